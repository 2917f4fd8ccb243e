/** Rules of a domain, as crawlers meet them. */
import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { FACEBOOK, openEdge, PERSON } from '../../../test/support/edge.ts'
import type { Rule } from '../../rules/schema.ts'

const edge = await openEdge({
  render: async ({ rule, page }) => ({
    ...{ kind: 'rendered', status: 200, headers: [] },
    html: `<h1>${page.path} by rule ${rule?.index ?? 'none'}</h1>`,
  }),
})
beforeEach(() => edge.reset())

const rules = (...list: Rule[]) => edge.settings({ rules: list })

async function ask(path: string, agent?: string) {
  const { status, verdict, body, headers } = await edge.ask(path, agent === undefined ? {} : { agent })
  return { status, verdict, text: String(body), headers }
}

for (const [action, status] of [
  ['not-found', 404],
  ['gone', 410],
] as const) {
  it(`${action}: crawlers get ${status} with the stored page, or a short one, and people the origin`, async () => {
    await ask('/old')
    await rules({ path: '/*', action })
    const old = await ask('/old')
    assert.deepEqual([old.status, old.verdict], [status, 'rule'])
    assert.match(old.text, /\/old by rule none/)
    assert(old.headers.etag !== undefined)
    const other = await ask('/other')
    assert.deepEqual([other.status, other.verdict], [status, 'rule'])
    assert.match(other.text, /<h1/)
    assert.equal((await ask('/photo.jpg')).status, status)
    assert.equal((await ask('/robots.txt')).verdict, 'pass; excluded')
    const person = await ask('/old', PERSON)
    assert.deepEqual([person.status, person.verdict], [200, 'pass; not-a-crawler'])
    assert.deepEqual(edge.rendered, ['red.example/old'])
  })
}

it('no-store: rendered for each crawler, even where a page is stored, and not kept', async () => {
  await ask('/live')
  await rules({ path: '/live', action: 'no-store' })
  for (const _turn of [1, 2]) {
    const { verdict, text } = await ask('/live')
    assert.equal(verdict, 'rendered')
    assert.match(text, /by rule 0/)
  }
  assert.equal((await ask('/live.png')).verdict, 'pass; asset')
  const { rows } = await edge.pool.query(`select from page where path = '/live'`)
  assert.equal(rows.length, 0)
  await rules()
  assert.equal((await ask('/live')).verdict, 'rendered')
})

it('a rule for some crawlers: each kind gets the page that its own rule makes', async () => {
  await rules(
    { path: '/*', when: { categories: ['social'] }, change: { consent: true } },
    { path: '/b', action: 'pass', when: { categories: ['search'] } },
  )
  const found = async (agent?: string) => {
    const { verdict, text } = await ask('/a', agent)
    return `${verdict}: ${/by rule \w+/.exec(text)?.[0]}`
  }
  assert.equal(await found(), 'rendered: by rule none')
  assert.equal(await found(), 'hit: by rule none')
  assert.equal(await found(FACEBOOK), 'rendered: by rule 0')
  assert.equal(await found(FACEBOOK), 'hit: by rule 0')
  assert.equal(await found(), 'rendered: by rule none')
  assert.equal((await ask('/b')).verdict, 'pass; rule')
  assert.equal((await ask('/b', FACEBOOK)).verdict, 'rendered')
})

it('two kinds of crawlers that ask at once: neither gets the other page', async () => {
  await rules({ path: '/*', when: { categories: ['social'] }, change: { consent: true } })
  const [google, facebook] = await Promise.all([ask('/both'), ask('/both', FACEBOOK)])
  assert.doesNotMatch(google.text, /by rule 0/)
  assert.doesNotMatch(facebook.text, /by rule none/)
})

it('pages of other rules are served until they are stale', async () => {
  await ask('/a')
  await rules({ path: '/a', change: { consent: true } })
  const { verdict, text } = await ask('/a')
  assert.equal(verdict, 'hit')
  assert.match(text, /by rule none/)
})
