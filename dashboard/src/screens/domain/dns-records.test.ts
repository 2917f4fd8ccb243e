import assert from 'node:assert/strict'
import { it } from 'node:test'

import { crawlerCommand, dnsText, recordsFor } from './dns-records.ts'

const to = (host: string | null, addresses: string[] = []) => ({ host, addresses })

it('records for the target that the operator configured', () => {
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

it('without a target: the host of the dashboard, with a note', () => {
  const first = (here: string) => recordsFor('www.a.example', null, here).records[0]
  assert.deepEqual(first('prepaint.b.example'), { type: 'CNAME', value: 'prepaint.b.example.' })
  assert.deepEqual(first('203.0.113.5'), { type: 'A', value: '203.0.113.5' })
  assert.deepEqual(first('[2001:db8::5]'), { type: 'AAAA', value: '2001:db8::5' })
  assert.equal(first('localhost')!.value, '<address of this machine>')
  assert.match(recordsFor('www.a.example', null, 'b.example').note ?? '', /address of the dashboard/)
})

it('a request as a crawler: to the port of this edge, or to the target', () => {
  const command = (...[target, edge_port]: [Parameters<typeof recordsFor>[1], number | null]) =>
    crawlerCommand('www.a.example', { target, edge_port }, '127.0.0.1').split(' ')[5]
  assert.equal(command(null, 8080), 'www.a.example:80:127.0.0.1:8080')
  assert.equal(command(null, null), 'www.a.example:80:127.0.0.1:80')
  assert.equal(command(to('edge.b.example'), 8080), 'www.a.example:80:edge.b.example:80')
  assert.equal(command(to(null, ['2001:db8::5']), 8080), 'www.a.example:80:[2001:db8::5]:80')
  assert.match(
    crawlerCommand('www.a.example', undefined, 'b.example'),
    /:b\.example:80 http:\/\/www\.a\.example\/$/,
  )
})

it('where a name points, as text', () => {
  const say = (state: Parameters<typeof dnsText>[0]['state'], addresses: string[] = []) =>
    dnsText({ state, addresses, aliases: [] })
  assert.equal(say('reaches-us', ['203.0.113.5']), 'The name points here, through 203.0.113.5.')
  assert.match(say('elsewhere', ['203.0.113.5']), /points to 203\.0\.113\.5/)
  assert.match(say('elsewhere'), /not public/)
  assert.match(say('no-record'), /no address/)
  assert.match(say('not-checked'), /repeated automatically/)
})
