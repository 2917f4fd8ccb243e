import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { createRequestIds, requestIdOf } from './request-id.ts'

const GIVEN = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736'
const from = (remoteAddress: string, id?: string | string[]) => ({
  headers: id === undefined ? {} : { 'x-request-id': id as string },
  socket: { remoteAddress },
})

describe('the name of a request', () => {
  const nameOf = createRequestIds([ipaddr.parseCIDR('10.0.0.0/8')])

  it('is the one that a trusted proxy gave', () => {
    assert.equal(nameOf(from('10.1.2.3', GIVEN)), GIVEN)
    assert.equal(nameOf(from('::ffff:10.1.2.3', GIVEN)), GIVEN)
  })

  it('of anybody else is another each time, and never his', () => {
    const names = [nameOf(from('203.0.113.5', GIVEN)), nameOf(from('203.0.113.5')), nameOf(from('10.0.0.1'))]
    assert.equal(new Set([...names, GIVEN]).size, 4)
    for (const name of names) assert.match(name, /^[\w-]{20}$/)
    assert.notEqual(createRequestIds([])(from('10.0.0.1', GIVEN)), GIVEN)
  })

  it('of a proxy is taken when it could stand in a log: 8 to 128 plain characters', () => {
    for (const good of ['a'.repeat(8), 'a'.repeat(128)]) assert.equal(nameOf(from('10.0.0.1', good)), good)
    const wrong = ['a'.repeat(7), 'a'.repeat(129), 'has blank', 'line\nbreak', '"quoted"', 'größe-groß']
    for (const bad of wrong) assert.notEqual(nameOf(from('10.0.0.1', bad)), bad)
  })

  it('can be read off the request', () => {
    assert.equal(requestIdOf({ headers: { 'x-request-id': GIVEN } }), GIVEN)
    assert.equal(requestIdOf({ headers: {} }), '')
  })
})
