/** The list of renders, with its filters. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { renderRecord } from '../support/render-record.ts'
import { elements, openScreens, until } from './open-dashboard.ts'

const DOMAIN = 'shop.example.com'
const RENDERS = 120

const { page, open, isClean } = await openScreens(async ({ pool, domain }, owner) => {
  const { id } = await domain(owner, DOMAIN)
  await pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
     select $1, '/page-' || n, gen_random_uuid(), case when n % 40 = 0 then 'blank' else 'rendered' end, 1, 2, $2,
            now() - n * interval '30 minutes'
       from generate_series($3::integer, 1, -1) n`,
    [id, renderRecord(), RENDERS],
  )
})
const { button, row } = elements(page)
const shown = (what: string, count: number) =>
  until(what, async () => (await page.getByRole('button', { name: /^Show record of/ }).count()) === count)

it('all renders of a week are listed in parts, and found by outcome, path and time, which stand in the address', async () => {
  await open(`/domains/${DOMAIN}/renders`)
  await shown('the newest', 50)
  await button('Show older renders').click()
  await shown('older ones', 100)
  await button('Show older renders').click()
  await shown('all', RENDERS)
  await page.getByRole('combobox', { name: 'Outcome' }).selectOption('Failed')
  await shown('those that failed', 3)
  await row('/page-80').getByText('blank page').waitFor()
  await page.getByRole('combobox', { name: 'Time' }).selectOption('Last 24 hours')
  await shown('of a day', 1)
  await isClean()
  await page.reload()
  await shown('the same', 1)
  await page.getByRole('searchbox', { name: 'Part of the path' }).fill('/none')
  await page.getByText('No render that failed, of a path with “/none”, in the last 24 hours').waitFor()
  await button('Show all renders').click()
  await shown('the newest', 50)
  assert.equal(new URL(page.url()).search, '')
})

it('an outcome in the address that is none is not asked for', async () => {
  await open(`/domains/${DOMAIN}/renders?outcome=failed`)
  await shown('the newest', 50)
  await page
    .getByRole('combobox', { name: 'Outcome' })
    .and(page.locator(':has(option:checked[value=""])'))
    .waitFor()
})
