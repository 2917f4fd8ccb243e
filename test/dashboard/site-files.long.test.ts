/** robots.txt, redirects, sitemap and crawler policy, as the owner of a domain changes them. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { storePages } from '../support/api.ts'
import { serve } from '../support/loopback.ts'
import { openScreens, until } from './open-dashboard.ts'

const DOMAIN = 'shop.example.com'

const { api, owner, page, complaints, becomes, open, shows, click, fill, isClean } = await openScreens(
  async (api, owner) => {
    const { url, close } = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('User-agent: *\nDisallow: /cart\n')
    })
    after(close)
    const { id } = await api.domain(owner, DOMAIN)
    await api.pool.query('update domain set origin_url = $1', [url])
    await storePages(api, id, ['/old'])
  },
)

const hidden = (text: string) => becomes(`!document.body.innerText.includes(${JSON.stringify(text)})`)
const read = async (path: string) => (await api.get(`/api/domains/${DOMAIN}${path}`, owner.key)).body
const saved = async () =>
  (await read(''))['domain'] as { settings: Record<string, unknown>; indexnow_key: string | null }
const listed = async () => (await read('/redirects'))['redirects'] as { from: string; to: string | null }[]
const from = async () => (await listed()).map((each) => each.from).join()
const chooseFile = (text: string) => {
  const file = { name: 'redirects.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
  return page.setInputFiles('input[type=file]', file)
}

describe('robots.txt', () => {
  it('shows the difference from what is served, and tests a path while one types', async () => {
    await open(`/domains/${DOMAIN}/settings/robots`)
    await shows('No difference from the file that is served now.')
    await shows('Never changed.')
    await fill('Path', '/cart/1')
    await shows('line 2: Disallow: /cart')
    await fill('Mode', 'append')
    await fill('Text', 'Disallow: /x')
    await shows('text must begin with a User-agent or Sitemap line')
    await isClean()
    await fill('Text', 'User-agent: GPTBot\nDisalow: /drafts')
    await shows('Line 2: “Disalow” is no field of robots.txt. Did you mean “Disallow”?')
    await isClean()
    await fill('Text', 'User-agent: GPTBot\nDisallow: /drafts')
    await hidden('Did you mean')
    await shows('After saving')
    await fill('Path', '/drafts/1')
    await fill('Crawler', 'GPTBot')
    await shows('line 5: Disallow: /drafts')
    await click('Save')
    await shows('Saved. The new robots.txt is served.')
    await shows('In force')
  })

  it('asks before the whole site is forbidden to search engines, each by its name', async () => {
    await fill('Mode', 'replace')
    await fill('Text', 'User-agent: Googlebot\nDisallow: /')
    await click('Save')
    await shows(
      'This forbids the whole site to Googlebot. Its pages will disappear from Google. Save anyway?',
    )
    await isClean()
    await click('Cancel')
    assert.match(JSON.stringify((await saved()).settings['robots']), /append/)
    await fill('Text', 'User-agent: *\nDisallow: /')
    await click('Save')
    await shows('This forbids the whole site to Bingbot. Its pages will disappear from Bing.')
    await click('Save anyway')
    await shows('No difference from the file that is served now.')
  })

  it('a version shows what it changed, and what restoring it would; then it is restored', async () => {
    await click('Show changes')
    await shows('mode: replace')
    await shows('mode: append')
    await isClean()
    await click('Hide changes')
    await click('Restore')
    await shows('The present version is kept.')
    await shows('mode: append')
    await isClean()
    await click('Restore')
    await shows('The version is in force again')
    assert.match((await read('/robots'))['served'] as string, /\/cart\n[\s\S]*\/drafts/)
  })
})

describe('redirects', () => {
  it('are edited as lines, and found; a refused line is named, and nothing is saved', async () => {
    await open(`/domains/${DOMAIN}/settings/redirects`)
    await isClean()
    await fill('List', 'from,to,status\n/old,/old,\n/gone,,410\n')
    await click('Save')
    await shows('Line 2: it leads back to itself')
    await isClean()
    assert.equal(await from(), '')
    await fill('List', 'from,to,status\n/old,https://else.example/,\n/gone,,410\n')
    await click('Save')
    for (const text of ['A stored page exists at this path', 'Another host', 'never', '2 redirects'])
      await shows(text)
    await isClean()
    await fill('Search', 'ELSE')
    await shows('1 redirect')
    await hidden('/gone')
    await fill('Search', '')
    assert.equal(await from(), '/old,/gone')
  })

  it('two people do not overwrite each other', async () => {
    await fill('List', 'from,to\n/old,/mine\n')
    const theirs = [{ from: '/theirs', to: '/x', status: 301 }]
    // Elsewhere: events would bring the new list before it is saved.
    await api.pool.query(
      `insert into site_version (domain_id, kind, content, author) select id, 'redirects', $1, 'x' from domain`,
      [JSON.stringify(theirs)],
    )
    await click('Save')
    await shows('The list was changed meanwhile.')
    await isClean()
    await fill('List', 'from,to\n/old,/again\n')
    await Promise.all([page.waitForResponse((answer) => answer.status() === 412), click('Save')])
    await shows('The list was changed meanwhile.')
    assert.equal(await from(), '/theirs')
    await click('Undo changes')
    await becomes(`document.querySelector('textarea').value.includes('/theirs')`)
  })

  it('a file with bad lines saves nothing and names them; a good one replaces the list', async () => {
    await chooseFile('from,to,status\n/a,/b,\n/c,//d,\n/e,/f,999\n')
    await becomes(`document.querySelector('textarea').value.includes('999')`)
    await click('Save')
    await shows('Line 3: to must be a path that begins with one /, or an address with http or https')
    await shows('Line 4: status must be 301, 302, 307, 308, 410')
    assert.equal(await from(), '/theirs')
    await chooseFile(`from,to\n${Array.from({ length: 150 }, (_, at) => `/${at},/to\n`).join('')}`)
    await becomes(`document.querySelector('textarea').value.includes('/149')`)
    await click('Save')
    await shows('The first 100 of 150 redirects')
  })
})

it('sitemap and IndexNow are switched on, with their state and links', async () => {
  await open(`/domains/${DOMAIN}/settings/sitemap`)
  await click('Generate /sitemap.xml')
  await click('Tell search engines of changed pages')
  await shows('Not saved yet')
  await shows('Pages waiting')
  await click('Save')
  const key = await until('its key is made', async () => (await saved()).indexnow_key)
  await shows(`https://${DOMAIN}/${key}.txt`)
  await isClean()
  const { settings } = await saved()
  assert.deepEqual([settings['sitemap'], settings['indexnow']], ['generate', true])
})

it('the policy says what it costs, is saved, and asks before search engines are shut out', async () => {
  await open(`/domains/${DOMAIN}/settings/crawlers`)
  await shows('not used for training')
  await shows('not shown in ChatGPT’s')
  await isClean()
  await fill('AI: training', 'payment')
  await fill('AI (ai)', 'block')
  await shows('As AI: blocked: status 403')
  await fill('Training of models', 'deny')
  await click('Save')
  await shows('The address is required for "payment"')
  await becomes(`document.activeElement?.id === 'terms_url'`)
  await isClean()
  await fill('Address of your terms', `https://${DOMAIN}/terms`)
  await click('Save')
  await shows('Saved. The settings apply from the next request.')
  const { settings } = await saved()
  assert.deepEqual(settings['categories'], { 'ai-training': 'payment', ai: 'block' })
  assert.deepEqual(settings['preferences'], { ai_train: 'deny' })
  await fill('Search (search)', 'block')
  await click('Save')
  await shows('This forbids the whole site to Googlebot. Its pages will disappear from Google. Save anyway?')
  await click('Cancel')
  // Refusals that the tests asked for.
  assert.equal(complaints.filter((line) => !/status of (400|412)/.test(line)).join(), '')
})
