import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Incident } from '../../api/types.ts'
import { groupsOf, serverOfOrigin } from './incident-groups.ts'

let ids = 0
const incident = (kind: Incident['kind'], domain: string, state: Incident['state'] = 'open') =>
  ({ id: ++ids, kind, domain, state }) as Incident

const SERVERS: Record<string, string> = { a: 'one', b: 'one', c: 'two', d: 'one' }
const grouped = (incidents: readonly Incident[]) =>
  groupsOf(incidents, (domain) => SERVERS[domain] ?? null).map(({ kind, incidents: all }) =>
    [kind, ...all.map(({ domain }) => domain)].join(' '),
  )

it('open incidents of one kind on one server are one group, at the place of the newest', () => {
  const list = [
    incident('origin_unreachable', 'a'),
    incident('blocked', 'a'),
    incident('origin_unreachable', 'c'),
    incident('origin_unreachable', 'b'),
  ]
  assert.deepEqual(grouped(list), ['origin_unreachable a b', 'blocked a', 'origin_unreachable c'])
})

it('resolved incidents, kinds that no server causes, and sites with an unknown server stand alone', () => {
  const list = [
    incident('quota_reached', 'a'),
    incident('quota_reached', 'b'),
    incident('blocked', 'a', 'resolved'),
    incident('blocked', 'b', 'resolved'),
    incident('blocked', 'x'),
    incident('blocked', 'y'),
  ]
  assert.equal(grouped(list).length, 6)
})

it('the server is host and port of the origin', () => {
  assert.equal(serverOfOrigin('http://192.0.2.1:8080/path'), '192.0.2.1:8080')
  assert.equal(serverOfOrigin('https://Origin.example.com'), 'origin.example.com')
  assert.equal(serverOfOrigin(undefined), null)
  assert.equal(serverOfOrigin('x'), null)
})
