import assert from 'node:assert/strict'
import { it } from 'node:test'
import { serve } from '../support/loopback.ts'
import { type DomainEntry, faultOf, notePurge, openLedger, reckon, SETTLED_MS } from './ledger.ts'
import { shownIn } from './version-origin.ts'

const domain = (name: string, standing: DomainEntry['standing']): DomainEntry => ({
  name,
  standing,
  sinceMs: 0,
  purges: [],
  purgedMs: 0,
  rendered: new Map(),
})

it('finds everything that a node has gone back on', async () => {
  // A node that lost one domain, kept a deleted one, takes every key and stores one page only.
  const { url: api, close } = await serve((request, response) => {
    const body = request.url?.startsWith('/api/cache/list/')
      ? { pages: [{ path: '/kept' }] }
      : { domains: [{ custom_domain: 'there.example' }, { custom_domain: 'gone.example' }] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })

  const ledger = openLedger()
  const there = domain('there.example', 'there')
  const crashedMs = 10_000
  there.rendered.set('/kept', { atMs: 1 })
  there.rendered.set('/lost', { atMs: 1 })
  there.rendered.set('/just-rendered', { atMs: crashedMs - SETTLED_MS + 1 })
  ledger.domains.push(
    there,
    domain('lost.example', 'there'),
    domain('gone.example', 'gone'),
    domain('?', 'unsure'),
  )
  ledger.keys.push({ id: 1, key: 'k', standing: 'there', sinceMs: 0 })
  ledger.keys.push({ id: 2, key: 'l', standing: 'gone', sinceMs: 0 })
  try {
    assert.deepEqual(await reckon(ledger, { api }, 'k', crashedMs), [
      'lost.example was registered and is not listed',
      'gone.example was deleted and is listed',
      'key 2 (gone) answered 200',
      'there.example/lost was rendered and is not stored',
    ])
  } finally {
    await close()
  }
})

it('knows an answer that is older than a purge, of another page or without content', () => {
  const site = domain('a.example', 'there')
  notePurge(site, 7, 1_000)
  const html = (words: string) => shownIn(`<main>${words}</main>`)
  const settled = 1_000 + SETTLED_MS
  const old = html('shows version 6 at a.example/x')
  assert.match(faultOf(site, '/x', old, settled) ?? '', /version 6 after a purge at version 7/)
  assert.equal(faultOf(site, '/x', old, settled - 1), null)
  assert.equal(faultOf(site, '/x', html('shows version 7 at a.example/x'), settled), null)
  assert.match(
    faultOf(site, '/y', html('shows version 7 at a.example/x'), settled) ?? '',
    /page of a.example\/x/,
  )
  assert.match(
    faultOf(site, '/x', html('shows version 7 at b.example/x'), settled) ?? '',
    /page of b.example\/x/,
  )
  assert.match(faultOf(site, '/x', html(''), settled) ?? '', /without its content/)
})
