import assert from 'node:assert/strict'
import { it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { createRequestIds, requestIdOf } from './request-id.ts'

const GIVEN = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736'
const from = (remoteAddress: string, id?: string | string[]) => ({
  headers: id === undefined ? {} : { 'x-request-id': id as string },
  socket: { remoteAddress },
})
const nameOf = createRequestIds([ipaddr.parseCIDR('10.0.0.0/8')])

it('a request of a trusted proxy has the name that it gave, where that could stand in a log: 8 to 128 plain characters', () => {
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3']) assert.equal(nameOf(from(address, GIVEN)), GIVEN)
  for (const good of ['a'.repeat(8), 'a'.repeat(128)]) assert.equal(nameOf(from('10.0.0.1', good)), good)
  const wrong = ['a'.repeat(7), 'a'.repeat(129), 'has blank', 'line\nbreak', '"quoted"', 'größe-groß']
  for (const bad of wrong) assert.notEqual(nameOf(from('10.0.0.1', bad)), bad)
})

it('a request of anybody else has another each time, and never his', () => {
  const names = [nameOf(from('203.0.113.5', GIVEN)), nameOf(from('203.0.113.5')), nameOf(from('10.0.0.1'))]
  assert.equal(new Set([...names, GIVEN]).size, 4)
  for (const name of names) assert.match(name, /^[\w-]{20}$/)
  assert.notEqual(createRequestIds([])(from('10.0.0.1', GIVEN)), GIVEN)
  assert.equal(requestIdOf({ headers: {} }), '')
})
