/** Requests that ask a site for the proof of its name, and reach an edge of ours instead. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { createAddressGuard, NameServers } from '@prepaint/outbound'
import { lookForProof } from '@prepaint/service/sites/proof/look-for-proof.ts'
import { publishMark, withdrawMark } from '@prepaint/service/sites/proof/marks.ts'
import ipaddr from 'ipaddr.js'
import { proofRecords, proofToken } from '../../packages/service/src/sites/proof/proof-records.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../support/edge.ts'
import { freePort } from '../support/loopback.ts'
import { startNameServer } from '../support/name-server.ts'

/** The origin of whoever registered the name here: it shows every proof. */
let shown = ''
const asked: string[] = []
const edge = await openEdge({
  origin: (req, res) => {
    asked.push(req.url ?? '')
    res.end(shown)
  },
})
const names = new NameServers([(await startNameServer({ after }, { 'red.example': ['127.0.0.1'] })).server])
const closed = await freePort()
const host = 'red.example'
const marked = (mark: string) => ({ 'x-prepaint-proof': mark })

describe('a request with the mark of a check', () => {
  // Proves decided "Proof of a domain"
  it('gets 404 from an edge, for people and crawlers, and the check knows', async () => {
    for (const agent of [PERSON, GOOGLEBOT]) {
      const mark = await publishMark(edge.pool)
      asked.length = 0
      for (const path of ['/', '/.well-known/prepaint-proof.txt']) {
        const answer = await edge.ask(path, { host, agent, headers: marked(mark) })
        assert.deepEqual([answer.status, answer.headers['cache-control']], [404, 'no-store'])
      }
      assert.deepEqual(asked, [])
      assert.equal(await withdrawMark(edge.pool, mark), true)
    }
  })

  it('gets 404 where a page is in memory, over a connection that gets hits', async () => {
    await edge.ask('/stored', { host })
    assert.equal(await edge.verdict('/stored', { host }), 'hit')
    const mark = await publishMark(edge.pool)
    assert.equal((await edge.ask('/stored', { host, headers: marked(mark) })).status, 404)
    assert.equal(await withdrawMark(edge.pool, mark), true)
  })

  it('gets 404 for a host that is not registered, and the check knows', async () => {
    const mark = await publishMark(edge.pool)
    assert.equal((await edge.ask('/', { host: 'nobody.example', headers: marked(mark) })).status, 404)
    assert.equal(await withdrawMark(edge.pool, mark), true)
  })

  it('is answered as any other if the mark is of no check, is too short, or has ended', async () => {
    const mark = await publishMark(edge.pool)
    await withdrawMark(edge.pool, mark)
    for (const other of [mark, 'f'.repeat(32), 'f'.repeat(31), 'x'.repeat(32)]) {
      const answer = await edge.ask('/plain', { host, agent: PERSON, headers: marked(other) })
      assert.equal(answer.status, 200)
    }
  })
})

it('whoever registered a name that leads here cannot prove it by the own origin', async () => {
  const guard = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])
  const domain = { account: edge.account, name: host as DomainName }
  const records = proofRecords(domain.name, await proofToken(edge.pool, domain.account, domain.name))
  shown = `${records.file.content}\n`
  const ports = { http: edge.port, https: closed }
  const look = () => lookForProof(edge.pool, domain, { guard, names, target: null, ports })
  assert.equal((await look()).kind, 'missing')
  shown = `<head>${records.meta.tag}</head>`
  const found = await look()
  assert(found.kind === 'missing')
  assert.equal(found.site, 'here')
})
