import assert from 'node:assert/strict'
import { it } from 'node:test'

import { dnsWords, recordsFor } from './dns-records.ts'

const to = (host: string | null, addresses: string[] = []) => ({ host, addresses })

it('records that lead where the operator has said', () => {
  assert.deepEqual(recordsFor('www.a.example', to('edge.b.example'), 'x'), {
    records: [{ type: 'CNAME', value: 'edge.b.example.' }],
    note: null,
  })
  assert.equal(recordsFor('a.example', to('edge.b.example'), 'x').records[0]!.type, 'ALIAS')
  assert.deepEqual(recordsFor('a.example', to(null, ['203.0.113.5', '2001:db8::5']), 'x'), {
    records: [
      { type: 'A', value: '203.0.113.5' },
      { type: 'AAAA', value: '2001:db8::5' },
    ],
    note: null,
  })
})

it('else where the dashboard is, with a word of caution', () => {
  const first = (here: string) => recordsFor('www.a.example', null, here).records[0]
  assert.deepEqual(first('prepaint.b.example'), { type: 'CNAME', value: 'prepaint.b.example.' })
  assert.deepEqual(first('203.0.113.5'), { type: 'A', value: '203.0.113.5' })
  assert.deepEqual(first('[2001:db8::5]'), { type: 'AAAA', value: '2001:db8::5' })
  assert.equal(first('localhost')!.value, '<address of this machine>')
  assert.match(recordsFor('www.a.example', null, 'b.example').note ?? '', /by which you reach/)
})

it('where a name leads, in words', () => {
  const say = (state: Parameters<typeof dnsWords>[0]['state'], addresses: string[] = []) =>
    dnsWords({ state, addresses, aliases: [] })
  assert.equal(say('reaches-us', ['203.0.113.5']), 'The name leads here, by 203.0.113.5.')
  assert.match(say('elsewhere', ['203.0.113.5']), /leads to 203\.0\.113\.5/)
  assert.match(say('elsewhere'), /not public/)
  assert.match(say('no-record'), /no address/)
  assert.match(say('not-checked'), /asked again/)
})
