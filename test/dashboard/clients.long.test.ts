/** What an agency shows its clients: reports on screen and paper, its own name and colour, and share links with both. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import type { Page } from 'playwright-core'
import { pngOf } from '../support/pictures.ts'
import { chooseOwn, elements, openScreens, openWindow, until } from './open-dashboard.ts'

const now = new Date()
const monthsBack = (back: number) =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7)
const nameOf = (month: string) =>
  new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${month}-01T00:00:00Z`),
  )
const last = monthsBack(1)

let shop: DomainId
const { api, owner, page, open, run, complaints } = await openScreens(async (its, account) => {
  shop = (await its.domain(account, 'shop.example.com')).id
  const blog = await its.domain(account, 'blog.example.com')
  await its.domain(account, 'hidden.example.com')
  await its.pool.query(`insert into domain_tags values ($1, '{Blue}'), ($2, '{Blue}')`, [shop, blog.id])
  for (const [day, crawler, verdict, visits] of [
    ['03', 'Googlebot', 'hit', 1_200],
    ['17', 'GPTBot', 'rendered', 300],
    ['28', 'Bingbot', 'pass; origin-error', 12],
  ]) {
    await its.pool.query(`insert into traffic_day values ($1, $2, 'search', $3, $4, $5, 0, 0, 0, 0, '{}')`, [
      shop,
      `${last}-${day}`,
      crawler,
      verdict,
      visits,
    ])
  }
  await its.pool.query(`insert into traffic_path values ($1, $2, false, '/garden/chairs', 640, 'hit', 200)`, [
    shop,
    `${last}-03`,
  ])
  await its.pool.query(
    `insert into incident (account_id, domain_id, kind, state, since, resolved_at, summary, evidence)
     values ($1, $2, 'blocked', 'resolved', $3, $4, 'Blocked.', $5)`,
    [
      account.id,
      shop,
      `${last}-28T10:00:00Z`,
      `${last}-28T12:00:00Z`,
      { count: 1, pages: [], changes: [], level: null, advice: '', url: '' },
    ],
  )
})
const { button, dialog, field, link, region, isClean, isCleanEverywhere } = elements(page)

it('on the first day, Reports says when the first one is made, and shows the running month', async () => {
  await open('/reports')
  const next = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' }).format(
    new Date(`${monthsBack(-1)}-01T00:00:00Z`),
  )
  await page.getByText(`The first report is made on 1 ${next}`).waitFor()
  await isCleanEverywhere()
  await link(`Show ${nameOf(monthsBack(0))} so far`).click()
  await region('shop.example.com').waitFor()
  await api.pool.query(`update account set created_at = now() - interval '70 days' where id = $1`, [owner.id])
})

it('the report of a month has figures, days, crawlers, pages and incidents; months and tags are chosen', async () => {
  await open('/reports')
  await page.getByText(`Crawlers visited the 3 sites 1,512 times in ${nameOf(last)}`).waitFor()
  const site = region('shop.example.com')
  for (const text of ['1,512', '79 %', 'Googlebot', '/garden/chairs', 'Blocked by a bot challenge']) {
    await site.getByText(text, { exact: true }).first().waitFor()
  }
  await site.getByRole('img', { name: /3: 1,200/ }).waitFor()
  await isCleanEverywhere()
  await page.getByRole('combobox', { name: 'Tag' }).selectOption('Blue')
  await until('the address names the tag', () => page.url().endsWith(`/reports/${last}?tag=Blue`))
  await until('other sites are gone', async () => (await region('hidden.example.com').count()) === 0)
  await page.getByRole('combobox', { name: 'Month' }).selectOption(monthsBack(0))
  await until('the address names the month', () => page.url().endsWith(`/reports/${monthsBack(0)}?tag=Blue`))
  await page.getByText(/^No crawler visited the 2 sites so far in/).waitFor()
  await isClean()
  await page.getByRole('combobox', { name: 'Site' }).selectOption('shop.example.com')
  await until('the address names the site alone', () =>
    page.url().endsWith(`/reports/${monthsBack(0)}?domains=shop.example.com`),
  )
  await page.getByText(/^No crawler visited the site so far in|^No crawler visited shop/).waitFor()
})

it('a report is sent as a share link with its sites, which can be written into an e-mail', async () => {
  await open(`/reports/${last}?tag=Blue`)
  await button('Send to a client').click()
  const form = dialog('Make a share link')
  assert.equal(await field('Name', form).inputValue(), 'Blue')
  assert.equal(await form.getByLabel('blog.example.com').isChecked(), true)
  assert.equal(await form.getByLabel('hidden.example.com').isChecked(), false)
  assert.equal(await form.getByLabel('Reports: of each week and month').isChecked(), true)
  assert.equal(await form.getByLabel('Traffic: visits of crawlers').isChecked(), false)
  await isClean()
  await button('Make the link', form).click()
  const shared = (await page.getByText(/\/shared#pp_sh_/).innerText()).trim()
  const mail = new URL((await link('Write an e-mail').getAttribute('href'))!)
  assert.equal(mail.protocol, 'mailto:')
  assert.equal(mail.searchParams.get('subject'), `Report of ${nameOf(last)}`)
  assert.equal(mail.searchParams.get('body'), shared)
  await isClean()
  await button('I have copied it').click()
})

it('on paper there is the report alone, in light colours, with a site on one page', async () => {
  await open(`/reports/${last}`)
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  for (const name of ['Print or save as PDF']) assert.equal(await button(name).isVisible(), false)
  assert.equal(await page.getByRole('navigation', { name: 'Main' }).isVisible(), false)
  const look = await run<{ color: string; inside: string }>(`(() => {
    const { color, breakInside: inside } = getComputedStyle(document.querySelector('section[aria-label="shop.example.com"]'))
    return { color, inside }
  })()`)
  assert.deepEqual(look, { color: 'rgb(23, 33, 31)', inside: 'avoid' })
  for (const format of ['A4', 'Letter']) {
    const pdf = await page.pdf({ format, preferCSSPageSize: false })
    assert(pdf.length > 5_000)
    const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0
    assert(pages >= 1 && pages <= 3, `${pages} pages`)
  }
  await page.emulateMedia({ media: null, colorScheme: null })
})

it('a report of more than five sites begins with a list of them that leads to each', async () => {
  const more = ['one', 'two', 'three'].map((each) => `${each}.example.com`)
  for (const name of more) await api.domain(owner, name)
  await open(`/reports/${last}`)
  const list = page.getByRole('table', { name: 'Sites of this report' })
  assert.equal(await list.getByRole('row').count(), 7)
  await list.getByRole('row', { name: /^shop\.example\.com 1,512/ }).waitFor()
  await isCleanEverywhere()
  await list.getByRole('link', { name: 'two.example.com' }).click()
  await until('its section is in sight', async () => {
    const { y = 9_999 } = (await region('two.example.com').boundingBox()) ?? {}
    return y < 900
  })
  await page.emulateMedia({ media: 'print' })
  assert.equal(await list.isVisible(), true)
  await page.emulateMedia({ media: null })
  await api.pool.query('delete from domain where custom_domain = any ($1)', [more])
  await open(`/reports/${last}`)
  assert.equal(await list.count(), 0)
})

it('an admin chooses name, colour and logo, and sees them at once in the dashboard', async () => {
  await open('/account')
  const section = region('Branding')
  await section.getByLabel('Name', { exact: true }).fill('Blue Agency')
  await section.getByLabel('Colour', { exact: true }).fill('#ffd400')
  await section.getByRole('region', { name: 'Preview' }).getByText('Light').waitFor()
  await isCleanEverywhere()
  await section.getByLabel('Sender of e-mails').fill('Blue <x>')
  await button('Save branding', section).click()
  await section.getByText('Leave out < > " @ and \\').waitFor()
  await section.getByLabel('Sender of e-mails').fill('Blue Agency')
  await section.getByLabel('Say that it is made with Prepaint').uncheck()
  await button('Save branding', section).click()
  await until('the window has the name', async () => (await page.title()) === 'Settings · Blue Agency')
  await section.locator('input[type=file]').setInputFiles({
    name: 'logo.svg.png',
    mimeType: 'image/png',
    buffer: Buffer.from('<svg/>'),
  })
  await page.getByText('logo must be PNG or WebP').waitFor()
  await section.locator('input[type=file]').setInputFiles({
    name: 'logo.png',
    mimeType: 'image/png',
    buffer: pngOf(160, 40, { rgb: [20, 80, 200] }),
  })
  await page.getByRole('img', { name: 'Blue Agency' }).first().waitFor()
  await isCleanEverywhere()
})

it('a share link by tag shows overview, traffic, incidents and reports under that name, and nothing else', async () => {
  await open('/share-links')
  await button('Make a share link').click()
  const form = dialog('Make a share link')
  await field('Name', form).fill('Blue')
  await form.getByRole('combobox', { name: 'Add all with the tag' }).selectOption('Blue')
  await form.getByText('2 chosen').waitFor()
  await form.getByText('Anyone with this link can see this.').waitFor()
  await form.getByRole('combobox', { name: 'Expires in' }).selectOption('date')
  await form.getByLabel('Last day (UTC)').waitFor()
  await isClean()
  await button('Make the link', form).click()
  const url = (await page.getByText(/\/shared#pp_sh_/).innerText()).trim()
  await button('I have copied it').click()

  const holder = await (await page.context().browser()!.newContext()).newPage()
  const asked: string[] = []
  holder.on('request', (request) => asked.push(request.url()))
  await holder.goto(url)
  await holder.getByRole('heading', { level: 1, name: 'Blue Agency' }).waitFor()
  await holder.getByRole('img', { name: 'Blue Agency' }).first().waitFor()
  for (const name of ['Overview', 'Incidents', `Report of ${nameOf(last)}`]) {
    await holder.getByRole(name.startsWith('Report') ? 'article' : 'region', { name, exact: true }).waitFor()
  }
  const seen = await holder.locator('body').innerText()
  assert.doesNotMatch(seen, /hidden\.example\.com|Prepaint/)
  assert.equal(await holder.locator('meta[name=robots]').getAttribute('content'), 'noindex')
  await isCleanEverywhere(holder)
  assert.deepEqual(
    asked.filter((each) => !each.startsWith(`${new URL(url).origin}/`)),
    [],
  )
  // The sign-in screen of the same tab looks like the link, and so does the link once it is revoked.
  await holder.goto(`${api.url}/reports`)
  await hasBrandOnly(holder, 'Sign in · Blue Agency')
  await isClean(holder)
  await api.pool.query(`delete from share_link where name = 'Blue'`)
  await holder.goto(url)
  await holder.getByText('It has expired or was revoked.').waitFor()
  await hasBrandOnly(holder, 'This link shows nothing any more · Blue Agency')
  await holder.context().close()
})

/** The window has the name, logo and icon of the account, and says nothing of ours. */
async function hasBrandOnly(on: Page, title: string): Promise<void> {
  // The screen before has the logo, too.
  await until('the window has its name', async () => (await on.title()) === title)
  await on.getByRole('img', { name: 'Blue Agency' }).waitFor()
  assert.match((await on.locator('link[rel=icon]').getAttribute('href')) ?? '', /\/logos\//)
  assert.doesNotMatch(await on.locator('body').innerText(), /Prepaint/)
}

it('in a browser in which a person of the account was signed in, the sign-in screen looks like the account', async () => {
  const member = await openWindow(page, { url: api.url, token: await sessionToken() })
  await member.goto(`${api.url}/reports`)
  await member.getByRole('img', { name: 'Blue Agency' }).first().waitFor()
  await chooseOwn(member, 'Sign out')
  await hasBrandOnly(member, 'Sign in · Blue Agency')
  const other = await member.context().newPage()
  await other.goto(`${api.url}/forgotten-password`)
  await hasBrandOnly(other, 'Reset your password · Blue Agency')
  await isClean(other)
  await member.context().close()
})

async function sessionToken(): Promise<string> {
  const [, token = ''] = (await api.session(owner)).split('=')
  return token
}

it('a link that has expired says whom to ask', async () => {
  const { token } = await createShareLink(
    api.pool,
    { account: owner.id, domains: null },
    { member: null, role: 'owner' },
    { name: 'old', domains: ['shop.example.com'], author: null },
    api.clock.nowMs() - 91 * 86_400_000,
  )
  const holder = await (await page.context().browser()!.newContext()).newPage()
  await holder.goto(`${api.url}/shared#${token}`)
  await holder.getByText('It has expired. Ask Blue Agency for a new one.').waitFor()
  await hasBrandOnly(holder, 'This link shows nothing any more · Blue Agency')
  await isClean(holder)
  // The brand of a link is for its tab only.
  const other = await holder.context().newPage()
  await other.goto(`${api.url}/sign-in`)
  await other.getByText('Prepaint', { exact: true }).waitFor()
  await holder.context().close()
})

it('a new address asks for its sites first, and kinds are behind "Choose kinds"', async () => {
  await open('/notifications')
  await button('Add an address').click()
  const form = dialog('Add an address')
  await field('E-mail', form).fill('client@example.org')
  await form.getByLabel('Only these').check()
  await button('Add', form).click()
  await form.getByText('Choose at least one site').waitFor()
  await form.getByRole('combobox', { name: 'Add all with the tag' }).selectOption('Blue')
  await form.getByText('2 chosen').waitFor()
  await form.getByLabel('Monthly report').check()
  await form.getByText('Choose kinds (all)').waitFor()
  assert.equal(await form.getByLabel('Quota reached').isVisible(), false)
  await isClean()
  await button('Add', form).click()
  await page.getByText('Waits for its confirmation').waitFor()
  // Without the note that goes by itself.
  await open('/notifications')
  await isCleanEverywhere()
  const stored = await api.database.column<string>(
    `select cardinality(domains) || ' ' || ('mail.monthly_report' = any (events)) from channel where address = 'client@example.org'`,
  )
  assert.deepEqual(stored, ['2 true'])
})

it('no window complained but of the logo that was refused and the link that ended', () => {
  assert.deepEqual(
    complaints.filter((line) => !/status of 40[01]/.test(line)),
    [],
  )
})
