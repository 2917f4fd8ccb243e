/** The dashboard while PostgreSQL is stopped: one banner, and everything stays as it was. */
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startTestServer } from '../support/postgres-server.ts'
import { elements, openDashboard, signIn, until } from './open-dashboard.ts'

const EMAIL = 'operator@example.com'
const PASSWORD = 'nine still ponds mirror'
const BANNER = 'The database is unavailable. Your sites are still being served. Retrying ...'
/** So many that the list is longer than any window. */
const DOMAINS = 40
const WIDTHS = [390, 1024, 1440]
/** Names a folder for pictures of what the tests look at. */
const PICTURES = process.env['PREPAINT_TEST_PICTURES']

const server = await startTestServer()
after(() => server.close())
const dashboard = await openDashboard({ DATABASE_URL: server.url, PREPAINT_ROLES: 'edge,api' })
const page = await dashboard.newPage()
const { heading, button, field, dialog, isClean, link } = elements(page)
const visit = (to: string) => page.goto(dashboard.node.api + to)
const banner = page.getByRole('alert').filter({ hasText: BANNER })
const showBanner = () => banner.waitFor({ timeout: 60_000 })

async function take(name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: path.join(PICTURES, `${name}.png`) })
}

async function addDomain(name: string): Promise<number> {
  const answer = await page.request.post(`${dashboard.node.api}/api/domains`, {
    headers: { 'sec-fetch-site': 'same-origin' },
    data: { custom_domain: name, origin_url: dashboard.originUrl },
  })
  return answer.status()
}

before(async () => {
  await page.goto(dashboard.firstLink)
  await field('E-mail').fill(EMAIL)
  await field('New password').fill(PASSWORD)
  await field('Repeat the password').fill(PASSWORD)
  await button('Create the account').click()
  await heading('Sites').waitFor()
  for (let at = 0; at < DOMAINS; at++) assert.equal(await addDomain(`shop-${at}.example.com`), 201)
})

describe('while PostgreSQL is stopped', () => {
  it('a form that was refused keeps what was typed, and is sent again afterwards', async () => {
    await visit('/domains')
    await button('Add a domain').first().click()
    await field('Address of your site').fill('typed.example.com')
    await field('Origin').fill(dashboard.originUrl)
    await server.stop()
    await button('Add the domain').click()
    await showBanner()
    assert.equal(await banner.count(), 1)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 })
      await isOnTop()
      await take(`form-${width}`)
    }
    await isClean()
    assert.equal(await field('Address of your site').inputValue(), 'typed.example.com')
    assert.equal(await field('Origin').inputValue(), dashboard.originUrl)

    await server.start()
    await banner.waitFor({ state: 'detached', timeout: 60_000 })
    assert.equal(await field('Address of your site').inputValue(), 'typed.example.com')
    await button('Add the domain').click()
    await heading('Set up typed.example.com').waitFor()
  })

  it('the menu and the links of a scrolled screen can be used, at every width', async () => {
    await visit('/domains')
    await link('shop-0.example.com').waitFor()
    await server.stop()
    await showBanner()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 })
      // The navigation at the side scrolls by itself.
      await page.mouse.move(width / 2, 500)
      await until('it is scrolled', async () => {
        await page.mouse.wheel(0, 1_000)
        return page.evaluate<boolean>('scrollY > 500')
      })
      await isOnTop()
      await take(`scrolled-${width}`)
      if (width < 960) {
        await button('Open the menu').click()
        await take(`menu-${width}`)
        await dialog(/.*/).getByRole('button', { name: 'Close the menu' }).click()
        await dialog(/.*/).waitFor({ state: 'detached' })
      } else {
        await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Traffic' }).click()
        await heading('Traffic').waitFor()
        await take(`other-screen-${width}`)
        await page.goBack()
        await heading('Sites').waitFor()
      }
      await page.evaluate('scrollTo(0, 0)')
    }
    assert.equal(await banner.count(), 1)
    await isClean()
  })

  it('the session stays: all screens work when PostgreSQL is back', async () => {
    await server.start()
    await banner.waitFor({ state: 'detached', timeout: 60_000 })
    await visit('/traffic')
    await heading('Traffic').waitFor()
    assert.equal(await addDomain('later.example.com'), 201)
  })

  it('a page that is loaded meanwhile waits for its data, and is not signed out', async () => {
    await server.stop()
    await visit('/domains')
    await showBanner()
    await take('loaded-meanwhile')
    await heading('Please wait').waitFor()
    assert.equal(new URL(page.url()).pathname, '/domains')
    await isClean()
    await server.start()
    await banner.waitFor({ state: 'detached', timeout: 60_000 })
    await link('later.example.com').waitFor()
  })

  it('a sign-in keeps e-mail and password, and works afterwards', async () => {
    const other = await dashboard.newPage()
    await other.goto(`${dashboard.node.api}/sign-in`)
    await heading('Sign in', other).waitFor()
    await server.stop()
    await signIn(other, EMAIL, PASSWORD)
    const shown = other.getByRole('alert').filter({ hasText: BANNER })
    await shown.waitFor({ timeout: 60_000 })
    assert.equal(await field('E-mail', other).inputValue(), EMAIL)
    assert.equal(await field('Password', other).inputValue(), PASSWORD)
    await server.start()
    await shown.waitFor({ state: 'detached', timeout: 60_000 })
    await button('Sign in', other).click()
    await heading('Sites', other).waitFor()
    await other.context().close()
  })
})

it('no window has logged anything but the refused requests', () => {
  assert.equal(dashboard.complaints.filter((line) => !/status of (?:401|429|503)/.test(line)).join(), '')
})

/** Nothing is above the banner, and the bar below it is not covered by it. */
async function isOnTop(): Promise<void> {
  await until('the banner is on top', async () => {
    const box = await banner.boundingBox()
    assert(box !== null)
    assert.equal(Math.round(box.y), 0)
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
    const there = await page.evaluate(`document.elementFromPoint(${middle.x}, ${middle.y}).textContent`)
    assert.equal(there, BANNER)
    return true
  })
}
