/** Updates that arrive without a request: live figures, e-mails, changes of another window. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { startTestSmtp } from '../support/smtp-server.ts'
import { elements, openDashboard, signIn, until } from './open-dashboard.ts'

const DOMAIN = 'shop.example.com'
const OPERATOR = 'operator@example.com'
const PASSWORDS = ['seven quiet otters paint', 'eight loud herons sleep']
const BINGBOT = 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)'

const smtp = await startTestSmtp()
const dashboard = await openDashboard({
  PREPAINT_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  PREPAINT_MAIL_FROM: 'Prepaint <prepaint@example.com>',
  PREPAINT_PUBLIC_URL: 'http://prepaint.example.com',
})
const page = await dashboard.newPage()
before(async () => {
  await page.goto(dashboard.firstLink.replace('http://prepaint.example.com', dashboard.node.api))
  await field('E-mail').fill(OPERATOR)
  await setPassword(page, PASSWORDS[0]!, 'Create the account')
  await heading('Sites').waitFor()
  const body = { custom_domain: DOMAIN, origin_url: dashboard.originUrl }
  assert.equal(await callFrom(page, 'POST', '/api/domains', body), 201)
})
after(smtp.close)

const { heading, button, field, row, isClean, isCleanHere } = elements(page)
const visit = (path: string, on: Page = page) => on.goto(dashboard.node.api + path)
const crawl = (path: string, userAgent = GOOGLEBOT) =>
  edgeRequest(dashboard.node.edge, { host: DOMAIN, path, userAgent })

/** With the session of the page; returns the status. */
async function callFrom(on: Page, method: string, path: string, data: object): Promise<number> {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const answer = await on.request.fetch(new URL(path, on.url()).href, { method, headers, data })
  return answer.status()
}

async function setPassword(on: Page, password: string, submit: string): Promise<void> {
  await field('New password', on).fill(password)
  await field('Repeat the password', on).fill(password)
  await button(submit, on).click()
}

/** Asserts that the page was not reloaded. */
async function stayed(on: Page, work: () => Promise<void>): Promise<void> {
  await on.evaluate(() => Object.assign(globalThis, { isSameDocument: true }))
  await work()
  assert(await on.evaluate(() => 'isSameDocument' in globalThis), 'the page was reloaded')
}

const isLive = () => page.getByText('Live', { exact: true }).waitFor()

describe('live figures', () => {
  // Proves decided "Events of visits"
  it('a crawler visit updates the table and its counts', async () => {
    await visit(`/domains/${DOMAIN}/pages`)
    await page.getByText('No page is cached yet').waitFor()
    await isLive()
    await stayed(page, async () => {
      assert.equal((await crawl('/')).verdict, 'rendered')
      await row(/^Select \/ .* 200 /).waitFor()
      assert.equal((await crawl('/about')).verdict, 'rendered')
      await row(/^Select \/about /).waitFor()
      await page.getByText('2 pages', { exact: true }).waitFor()
      assert.equal((await crawl('/about', BINGBOT)).verdict, 'hit')
      await row(/^Select \/about .* bingbot /i).waitFor()
    })
  })

  it('and the list of domains, its hit ratio, and the charts', async () => {
    await visit('/domains')
    await row(new RegExp(`${DOMAIN} .*bingbot`, 'i')).waitFor()
    await isLive()
    await stayed(page, async () => {
      assert.equal((await crawl('/about')).verdict, 'hit')
      await row(new RegExp(`${DOMAIN} .* Googlebot, just now`)).waitFor()
      await page.getByRole('link', { name: DOMAIN, exact: true }).click()
      const screens = page.getByRole('navigation', { name: 'This domain' })
      await screens.getByRole('link', { name: 'Traffic' }).click()
      const verdicts = page.getByRole('slider', { name: /^Answers to crawlers/ })
      const hits = async () => /Hit (\d+)/.exec((await verdicts.getAttribute('aria-valuetext')) ?? '')?.[1]
      // One of bingbot, one of Googlebot.
      await until('the hits of before are counted', async () => (await hits()) === '2')
      assert.equal((await crawl('/about')).verdict, 'hit')
      await until('the chart has one hit more', async () => (await hits()) === '3')
    })
  })

  it('the progress of a warm run is shown in windows that did not start it', async () => {
    await visit(`/domains/${DOMAIN}/pages`)
    await isLive()
    await stayed(page, async () => {
      const warm = `/api/domains/${DOMAIN}/warm`
      assert.equal(await callFrom(page, 'POST', warm, { which: 'all' }), 200)
      const progress = page.getByRole('region', { name: 'Warm', exact: true })
      await progress.getByText(/^Done: 2 pages/).waitFor()
    })
  })

  it('a lost stream is shown, reconnects, and everything is read again', async () => {
    await page.route('**/events*', (route) => route.abort())
    await visit(`/domains/${DOMAIN}/pages`)
    await stayed(page, async () => {
      await page.getByText('Connection lost. Trying again…').waitFor()
      assert.equal((await crawl('/meanwhile')).verdict, 'rendered')
      await page.unroute('**/events*')
      await isLive()
      await row(/^Select \/meanwhile /).waitFor()
    })
  })
})

describe('a screen whose script cannot be loaded', () => {
  const openKeys = () => page.getByRole('link', { name: 'API keys', exact: true }).click()

  it('says that the connection is lost, and is shown once the server responds', async () => {
    await visit('/domains')
    await row(new RegExp(`${DOMAIN} `)).waitFor()
    for (const lost of ['**/assets/keys-*.js', '**/api/session']) {
      await page.route(lost, (route) => route.abort())
    }
    await openKeys()
    await heading('Connection lost. Trying again…').waitFor()
    await isClean()
    await page.unrouteAll()
    await heading('API keys').waitFor()
  })

  it('says that there is a newer version if the server responds', async () => {
    await visit('/domains')
    await row(new RegExp(`${DOMAIN} `)).waitFor()
    await page.route('**/assets/keys-*.js', (route) => route.abort())
    await openKeys()
    await heading('A newer version is available').waitFor()
    await isClean()
    await page.unrouteAll()
    await button('Reload').click()
    await heading('API keys').waitFor()
  })
})

describe('a forgotten password', () => {
  it('an e-mail brings a link, which works once and signs out everywhere else', async () => {
    const other = await dashboard.newPage()
    for (const email of ['nobody@example.com', OPERATOR]) {
      await visit('/sign-in', other)
      await other.getByRole('link', { name: /forgot/i }).click()
      await heading('Reset your password', other).waitFor()
      await field('E-mail', other).fill(email)
      await button('Send the link', other).click()
      await heading('Check your e-mail', other).waitFor()
    }
    await isClean(other)
    await until('the letter has come', async () => smtp.mails.length > 0)
    assert.equal(smtp.mails.map(({ to }) => to).join(), OPERATOR)
    const text = smtp.mails[0]!.data.replaceAll('=\r\n', '').replaceAll('=3D', '=')
    const link = /http:\/\/prepaint\.example\.com(\/welcome#pp_in_[\w-]+)/.exec(text)?.[1]
    assert(link !== undefined, text)
    await visit(link, other)
    await heading('Set a new password', other).waitFor()
    await setPassword(other, PASSWORDS[1]!, 'Set the password')
    await heading('Sites', other).waitFor()
    // The first window is signed out at once.
    await heading('Sign in').waitFor()
    await visit(link)
    await heading('This link does not work').waitFor()
    await visit('/sign-in')
    await signIn(page, OPERATOR, PASSWORDS[1]!)
    await heading('Sites').waitFor()
    await other.context().close()
  })
})

it('on a phone the menu takes the focus and gives it back; a new screen gets it', async () => {
  await visit('/domains')
  await page.setViewportSize({ width: 390, height: 844 })
  const menu = button('Open the menu')
  await menu.focus()
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.locator(':focus').waitFor()
  await isCleanHere()
  await page.keyboard.press('Escape')
  await page.locator(':focus').and(menu).waitFor()
  await page.keyboard.press('Enter')
  await drawer.getByRole('link', { name: 'Traffic', exact: true }).click()
  await heading('Traffic').waitFor()
  await drawer.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 1280, height: 720 })
})

it('by keyboard, a dialog takes the focus and gives it back; the table is sorted and navigated', async () => {
  await visit(`/domains/${DOMAIN}/pages`)
  await row(/^Select \/about /).waitFor()
  for (const opener of ['Warm the cache', 'Purge all']) {
    await button(opener).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').locator(':focus').waitFor()
    await isCleanHere()
    await page.keyboard.press('Escape')
    await page.locator(':focus').and(button(opener)).waitFor()
  }
  await button('Path').focus()
  await page.keyboard.press('Enter')
  await page.locator('[aria-rowindex="2"]').filter({ hasText: '/meanwhile' }).waitFor()
  await page.getByRole('grid').focus()
  for (const key of ['End', ' ']) await page.keyboard.press(key)
  await page.getByText(', 1 selected').waitFor()
  assert.equal(await page.getByRole('checkbox', { name: 'Select /', exact: true }).isChecked(), true)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 2, name: '/', exact: true }).waitFor()
})

it('no window has logged anything but expected refusals and losses', () => {
  const expected = /status of (401|404)|ERR_FAILED|dynamically imported module|preload/
  assert.equal(dashboard.complaints.filter((line) => !expected.test(line)).join(), '')
})
