import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PortfolioDomain } from '../../api/types.ts'
import { difference } from '../../format.ts'
import { causesOf, groupsOf, shortDifference, weekText } from './site-groups.ts'

const site = (
  state: PortfolioDomain['state'],
  kind?: PortfolioDomain['reasons'][number]['kind'],
  total = 0,
  before = 0,
) =>
  ({
    custom_domain: 'shop.example.com',
    state,
    reasons: kind === undefined ? [] : [{ kind, text: '', since: '', url: '' }],
    visits: { days: [], total, before },
  }) as unknown as PortfolioDomain

it('sites in trouble and with warnings are one group, and empty groups are left out', () => {
  const groups = groupsOf([site('trouble'), site('warning'), site('ok'), site('paused')])
  assert.deepEqual(
    groups.map(({ title, sites }) => [title, sites.length]),
    [
      ['Needs attention', 2],
      ['Fine', 1],
      ['Paused', 1],
    ],
  )
})

it('causes of trouble are named in words, the most common first, with the site if it is one; warnings are none', () => {
  const sites = [
    site('trouble', 'dns_lost'),
    site('trouble', 'blocked'),
    site('trouble', 'blocked'),
    site('warning', 'quota_forecast'),
  ]
  assert.deepEqual(
    causesOf(sites).map(({ words, sites }) => [words, sites]),
    [
      ['Blocked by a bot challenge', 2],
      ['DNS points elsewhere', 1],
    ],
  )
  assert.equal(causesOf(sites)[1]?.name, 'shop.example.com')
  assert.deepEqual(causesOf([]), [])
})

it('a difference says how many more, and nothing where there was nothing before', () => {
  assert.deepEqual(
    [difference(112, 100), difference(50, 100), difference(100, 100), difference(5, 0)],
    ['12\u00a0% more', '50\u00a0% less', 'as many', ''],
  )
  assert.deepEqual(
    [shortDifference(112, 100), shortDifference(50, 100), shortDifference(100, 100)],
    ['+12\u00a0%', '−50\u00a0%', '±0\u00a0%'],
  )
})

it('the sum of a week reads as a sentence', () => {
  assert.equal(weekText([site('ok', undefined, 1, 0)]), '1 visit of crawlers in 7 days')
  assert.equal(
    weekText([site('ok', undefined, 600, 500), site('ok', undefined, 600, 500)]),
    '1,200 visits of crawlers in 7 days, 20\u00a0% more than the week before',
  )
  assert.match(weekText([site('ok', undefined, 5, 5)]), /as many as the week before$/)
})
