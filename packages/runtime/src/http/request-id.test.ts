import assert from 'node:assert/strict'
import { it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { RequestIds, requestIdOf } from './request-id.ts'

const GIVEN = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736'
const from = (remoteAddress: string, id?: string | string[]) => ({
  headers: id === undefined ? {} : { 'x-request-id': id as string },
  socket: { remoteAddress },
})
const ids = new RequestIds([ipaddr.parseCIDR('10.0.0.0/8')])

function idOf(request: ReturnType<typeof from>, given = ids): string {
  given.assign(request)
  return requestIdOf(request)
}

it('a request of a trusted proxy keeps the ID that the proxy sent if it has 8 to 128 plain characters', () => {
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3']) assert.equal(idOf(from(address, GIVEN)), GIVEN)
  for (const good of ['a'.repeat(8), 'a'.repeat(128)]) assert.equal(idOf(from('10.0.0.1', good)), good)
  const wrong = ['a'.repeat(7), 'a'.repeat(129), 'has blank', 'line\nbreak', '"quoted"', 'größe-groß']
  for (const bad of wrong) assert.notEqual(idOf(from('10.0.0.1', bad)), bad)
})

it('a request of any other client gets a new ID each time, never the one that the client sent', () => {
  const newIds = [idOf(from('203.0.113.5', GIVEN)), idOf(from('203.0.113.5')), idOf(from('10.0.0.1'))]
  assert.equal(new Set([...newIds, GIVEN]).size, 4)
  for (const id of newIds) assert.match(id, /^[\w-]{20}$/)
  assert.notEqual(idOf(from('10.0.0.1', GIVEN), new RequestIds([])), GIVEN)
  assert.equal(requestIdOf({ headers: {} }), '')
})
