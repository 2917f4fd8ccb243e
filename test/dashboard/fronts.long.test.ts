/** How an owner chooses by which way crawlers come, and sets up a front. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { startTestTraffic } from '../support/traffic.ts'
import { elements, openScreens, until } from './open-dashboard.ts'

const DOMAIN = 'shop.example.com'

const { api, page, open, complaints } = await openScreens(async (its, owner) => {
  await its.domain(owner, DOMAIN)
})
const { button, region, heading, link, field, row, isClean } = elements(page)
const choice = (name: string) => page.getByRole('radio', { name, exact: true })
const section = region('How crawlers come')
const fileShown = (name: string) =>
  page.getByRole('region', { name: `The file ${name}`, exact: true }).innerText()
const wayStored = async () =>
  (await api.pool.query<{ way: string | null }>(`select settings->>'way' as way from domain`)).rows.map(
    ({ way }) => way,
  )

it('before any crawler, a domain asks whether to change the DNS or to keep it', async () => {
  await open(`/domains/${DOMAIN}`)
  await section.getByText('No crawler has come yet').waitFor()
  await section.getByText(`${DOMAIN}. 300`).waitFor()
  assert(await choice('Change the DNS').isChecked())
  await isClean()
  await choice('Keep the DNS and add a middleware').click()
  await section.getByText('What receives your visitors first?').waitFor()
  await until('the way is stored', async () => (await wayStored()).join() === 'middleware')
  await section.getByText('At the DNS provider of').waitFor({ state: 'detached' })
})

it('the file of the chosen front is filled with the domain, the addresses and a new site token', async () => {
  await choice('nginx').click()
  const guide = readFileSync(
    path.resolve(import.meta.dirname, '../../examples/integrations/nginx.conf'),
    'utf8',
  )
  assert.match(await fileShown(`prepaint-${DOMAIN}.conf`), /X-Prerender-Token pp_site_TOKEN;/)
  await field('Your app').fill('10.0.0.3:8000')
  await button('Create site token').click()
  await section.getByText('The token is in the file below.').waitFor()
  const { host } = new URL(api.url)
  const shown = await fileShown(`prepaint-${DOMAIN}.conf`)
  const token = /X-Prerender-Token (pp_site_[\w-]{43});/.exec(shown)![1]!
  const wanted = guide
    .replace(/^# Replace: .* (?=See)/m, '# ')
    .replaceAll('www.example.com', DOMAIN)
    .replaceAll('127.0.0.1:8000', '10.0.0.3:8000')
    .replaceAll('127.0.0.1:3000', host)
    .replaceAll('pp_site_TOKEN', token)
  assert.equal(shown.trim(), wanted.trim())
  await isClean()
  await section.getByText('Save it in /etc/nginx/conf.d/.').waitFor()
  await section.getByText(`-H 'Host: ${DOMAIN}' http://127.0.0.1/`).waitFor()
  const answer = await fetch(`${api.url}/https://${DOMAIN}/`, { headers: { 'x-prerender-token': token } })
  assert.equal(answer.status, 200)
  const [copied] = await Promise.all([page.waitForEvent('download'), button('Download').click()])
  assert.equal(copied.suggestedFilename(), `prepaint-${DOMAIN}.conf`)
})

it('a front that passes requests on needs no key, and a program gets the URL of the API', async () => {
  await choice('HAProxy').click()
  await section.getByText('No key is needed').waitFor()
  assert.doesNotMatch(await fileShown('haproxy.cfg'), /pp_site_/)
  // It needs one, but no file of it does: it reads the environment.
  await choice('Cloudflare Worker').click()
  await section.getByText('Set it as PREPAINT_KEY').waitFor()
  await choice('Express').click()
  await section.getByText('Set it as PREPAINT_KEY').waitFor()
  await section.getByText(/^pp_site_[\w-]{43}$/).waitFor()
  const shown = await fileShown('express.mjs')
  assert(shown.includes(`PREPAINT_URL=${api.url} PREPAINT_KEY=pp_site_TOKEN SITE=https://${DOMAIN} `))
  await isClean()
})

it('the first crawler that the front sends is shown by itself, and a check says how it arrived', async () => {
  await section.getByText('Waiting for the first crawler that Express sends').waitFor()
  await api.pool.query(
    `insert into integration_way (domain_id, way, first_at, last_at, crawler, path, int_type, int_version)
     select id, 'middleware', now(), now(), 'Googlebot', '/shoes', 'PrepaintExpress', '0.3.0' from domain`,
  )
  await section.getByText('It works: Googlebot came for /shoes').waitFor()
  await section.getByText('Your PrepaintExpress asks for pages').waitFor()
  await button('Check now').click()
  await section.getByText('A request as a crawler arrived here, and our page came back.').waitFor()
  await isClean()
  await page.reload()
  await button('Show the instructions').waitFor()
})

it('a site behind a front is set up once crawlers arrive: no screen asks for DNS or certificate, and its steps are hidden for good', async () => {
  const steps = region('Getting started')
  const stepsDone = steps.getByRole('img', { name: 'Done', exact: true })
  await steps.getByText('Add the middleware').waitFor()
  await until('only the requests are done', async () => (await stepsDone.count()) === 1)
  const traffic = startTestTraffic(api.pool, { nowMs: Date.now })
  traffic.visit((await api.database.column<DomainId>('select id from domain'))[0]!)
  await traffic.close()
  await page.reload()
  await button('Check now').waitFor()
  await until('the first crawler, too', async () => (await stepsDone.count()) === 2)
  await isClean()
  await button('Hide', steps).click()
  await steps.waitFor({ state: 'detached' })
  await page.reload()
  await button('Check now').waitFor()
  assert.equal(await steps.count(), 0, 'the server keeps that it is hidden')
  assert.doesNotMatch(await page.innerText('main'), /No crawlers|No certificate|DNS points|No DNS|DNS …/)
  await isClean()
  await open('/domains')
  await row(DOMAIN).getByText('By a middleware').waitFor()
  assert.doesNotMatch(await row(DOMAIN).innerText(), /certificate|DNS/)
  await isClean()
})

it('a domain that is added with a middleware leads to the choice of its front', async () => {
  await open('/domains')
  await button('Add a domain').click()
  await field('Address of your site').fill('https://second.example.com/')
  await field('Origin').fill('https://origin.example.com')
  await button('Add the domain').click()
  await heading('Set up second.example.com').waitFor()
  await choice('Keep the DNS and add a middleware').click()
  await until('the way is kept', async () => (await wayStored()).sort().join() === 'middleware,middleware')
  await isClean()
  await button('Go on').click()
  const connect = page.getByRole('region', { name: 'Connect' })
  await connect.getByText('What receives your visitors first?').waitFor()
  await connect.getByText(/^Waiting for the first crawler that/).waitFor()
  await button('Check now', connect).waitFor()
  await isClean()
  await api.pool.query(
    `insert into integration_way select id, 'middleware', now(), now(), 'Googlebot', '/first' from domain where custom_domain = $1`,
    ['second.example.com'],
  )
  await connect.getByText(/^It works: Googlebot came for \/first/).waitFor()
  await link('Go to the site').click()
  await heading('second.example.com').waitFor()
  await api.pool.query(`delete from integration_way where path = '/first'`)
  await open('/domains')
  await row('second.example.com').getByText('Waiting for the first request from the middleware').waitFor()
  assert.doesNotMatch(await row('second.example.com').innerText(), /certificate|DNS/)
  assert.deepEqual(complaints, [])
})
