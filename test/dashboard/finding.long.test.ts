/** How people get around: the navigation, the pages of the settings, the switcher of domains, and Ctrl K. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type { Page } from 'playwright-core'
import { storePages } from '../support/api.ts'
import { chooseOwn, elements, openScreens, until } from './open-dashboard.ts'

const SHOP = 'shop.example.com'

const { api, owner, page, open, complaints } = await openScreens(async (its, account) => {
  const { id } = await its.domain(account, SHOP)
  for (let at = 1; at <= 30; at++) await its.domain(account, `site-${at}.example.com`)
  await storePages(its, id, ['/garden/rakes'])
})
const { button, dialog, field, heading, link, isClean, isCleanEverywhere, isCleanHere } = elements(page)

const path = () => new URL(page.url()).pathname
const isAt = (wanted: string) => until(`it is at ${wanted}`, () => path() === wanted)
const main = (on: Page) => on.getByRole('navigation', { name: 'Main' })
const options = (on: Page = page) => on.getByRole('option')

async function search(text: string, on: Page = page): Promise<void> {
  await on.keyboard.press('Control+k')
  await on.getByRole('dialog').getByRole('combobox').fill(text)
}

/** Searches, and opens the first result once it is the expected one. */
async function find(text: string, first: string | RegExp): Promise<void> {
  await search(text)
  await options()
    .first()
    .and(page.getByRole('option', { name: first }))
    .waitFor()
  await page.keyboard.press('Enter')
}

const shopId = () => api.database.column<DomainId>('select id from domain where custom_domain = $1', SHOP)

async function signedIn(role: 'client' | 'viewer' | 'editor', email = `${role}@example.com`): Promise<Page> {
  const person = await addPerson(api.pool, { email, password: null })
  await addMember(api.pool, owner.id, person, { role, domains: role === 'client' ? await shopId() : null })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const context = await page.context().browser()!.newContext()
  await context.addCookies([{ name: 'prepaint-session', value: started!.token, url: api.url }])
  return context.newPage()
}

describe('the navigation', () => {
  it('has the screens of the account below their heading, and share links and the audit log as tabs', async () => {
    await open('/domains')
    const titles = await main(page).getByRole('link').allInnerTexts()
    assert.deepEqual(
      titles.map((title) => title.trim()).filter((title) => title !== 'Reports'),
      ['Sites', 'Traffic', 'Incidents', 'Members', 'API keys', 'Notifications', 'Plan', 'Settings'],
    )
    await main(page).getByText('Account', { exact: true }).waitFor()
    await main(page).getByRole('link', { name: 'Members' }).click()
    await page.getByRole('navigation', { name: 'Members' }).getByRole('link', { name: 'Share links' }).click()
    await heading('Share links').waitFor()
    assert.equal(await main(page).locator('[aria-current=page]').innerText(), 'Members')
    await main(page).getByRole('link', { name: 'Settings' }).click()
    await heading('Settings').waitFor()
    await isCleanEverywhere()
    await link('Audit log').click()
    await heading('Audit log').waitFor()
    await isCleanEverywhere()
  })

  it('has what belongs to the person in a menu at its foot', async () => {
    await chooseOwn(page, 'Sessions')
    await heading('Security').waitFor()
    await until('the sessions are in sight', async () => {
      const { y = 9_999 } =
        (await page.getByRole('region', { name: 'Signed-in browsers' }).boundingBox()) ?? {}
      return y < 900
    })
    await chooseOwn(page, 'Use dark colours')
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor()
    const opener = page.getByRole('button', { name: /\. Your menu$/ })
    await opener.focus()
    await page.keyboard.press('Enter')
    await page
      .locator(':focus')
      .and(page.getByRole('menuitem', { name: 'Profile' }))
      .waitFor()
    await page.keyboard.press('End')
    await page
      .locator(':focus')
      .and(page.getByRole('menuitem', { name: 'Sign out' }))
      .waitFor()
    await page.getByRole('menuitem', { name: 'Use light colours' }).waitFor()
    await isCleanHere()
    await page.keyboard.press('Escape')
    await page.locator(':focus').and(opener).waitFor()
    // From now on the system decides again.
    await page.evaluate('localStorage.clear()')
  })

  it('shows a role only what it may use', async () => {
    const client = await signedIn('client')
    await client.goto(`${api.url}/domains`)
    await elements(client).link(SHOP).waitFor()
    const ofClient = await main(client).getByRole('link').allInnerTexts()
    assert.deepEqual(
      ofClient.map((title) => title.trim()).filter((title) => title !== 'Reports'),
      ['Sites', 'Traffic', 'Incidents'],
    )
    assert.equal(await main(client).getByText('Account', { exact: true }).count(), 0)
    await search('s', client)
    await client.getByRole('option', { name: SHOP }).first().waitFor()
    for (const hidden of [/^Freshness/, /^Pause/, /^Invite/, /^API keys/]) {
      assert.equal(await client.getByRole('option', { name: hidden }).count(), 0, String(hidden))
    }
    await client.context().close()
  })

  it('tells a client in sentences how the site does, with no link that leads nowhere', async () => {
    const client = await signedIn('client', 'reader@example.com')
    await client.goto(`${api.url}/domains`)
    const site = client.getByRole('region', { name: SHOP })
    for (const sentence of [
      'Waiting for the first request.',
      '0 visits of crawlers in 7 days.',
      'No crawler has visited yet.',
    ]) {
      await site.getByText(sentence, { exact: true }).waitFor()
    }
    await client.getByText(/^The first report is made on 1 /).waitFor()
    await isCleanEverywhere(client)
    await site.getByRole('link', { name: SHOP }).click()
    const overview = client.getByRole('navigation', { name: 'This domain' })
    await overview.getByRole('link', { name: 'Overview' }).waitFor()
    await client.getByText('No crawler has visited yet.').waitFor()
    await isCleanEverywhere(client)
    for (const start of ['/domains', `/domains/${SHOP}`, '/incidents', '/reports', '/account']) {
      await client.goto(api.url + start)
      await client.getByRole('heading', { level: 1 }).waitFor()
      const links: string[] = await client.evaluate(
        `[...document.querySelectorAll('a[href^="/"]')].map((each) => each.getAttribute('href'))`,
      )
      for (const to of new Set(links)) {
        await client.goto(api.url + to)
        await client.getByRole('heading', { level: 1 }).waitFor()
        await until(
          `${to} is loaded`,
          async () => (await client.getByRole('status', { name: 'Loading' }).count()) === 0,
        )
        for (const refusal of ['Page not found', 'Your role does not allow this']) {
          assert.equal(await client.getByText(refusal).count(), 0, `${refusal} at ${to}, from ${start}`)
        }
      }
    }
    await client.context().close()
  })
})

describe('the settings of a domain', () => {
  it('have a list of pages on wide screens, and a select on narrow ones', async () => {
    await open(`/domains/${SHOP}/settings`)
    await isAt(`/domains/${SHOP}/settings/site`)
    const list = page.getByRole('navigation', { name: 'Settings' })
    await page.setViewportSize({ width: 1_024, height: 800 })
    const titles = await list.getByRole('link').allInnerTexts()
    assert.equal(titles.length, 13)
    await list.getByRole('link', { name: 'Freshness' }).click()
    await isAt(`/domains/${SHOP}/settings/freshness`)
    await page.waitForFunction(`document.title.startsWith('Settings · ${SHOP}')`)
    await page.setViewportSize({ width: 768, height: 800 })
    await list.waitFor({ state: 'hidden' })
    await page.getByRole('combobox', { name: 'Page of the settings' }).selectOption('Redirects')
    await isAt(`/domains/${SHOP}/settings/redirects`)
    await field('List').waitFor()
  })

  it('save one page without touching the others', async () => {
    await open(`/domains/${SHOP}/settings/forms`)
    const other = { settings: { fresh_seconds: 7_200 } }
    const put = await api.call('PUT', `/api/domains/${SHOP}`, { key: owner.key, body: other })
    assert.equal(put.status, 200)
    await page.getByRole('switch', { name: 'Markdown' }).click()
    await button('Save').click()
    await page.getByText('Saved. The settings apply from the next request.').waitFor()
    const { body } = await api.get(`/api/domains/${SHOP}`, owner.key)
    const { settings } = body['domain'] as { settings: Record<string, unknown> }
    assert.deepEqual([settings['fresh_seconds'], settings['markdown']], [7_200, 'off'])
  })

  it('are found at their former addresses', async () => {
    for (const [former, now] of [
      ['crawlers', 'settings/crawlers'],
      ['tokens', 'settings/tokens'],
      ['site-files', 'settings/robots'],
      ['site-files?view=redirects', 'settings/redirects'],
      ['site-files?view=sitemap', 'settings/sitemap'],
      ['cache', 'pages'],
    ] as const) {
      await page.goto(`${api.url}/domains/${SHOP}/${former}`)
      await isAt(`/domains/${SHOP}/${now}`)
    }
    await open(`/domains/${SHOP}/settings/nothing`)
    await heading('Page not found').waitFor()
  })

  for (const name of ['site', 'paths', 'crawlers']) {
    it(`fit into every width: ${name}`, async () => {
      await open(`/domains/${SHOP}/settings/${name}`)
      if (name === 'paths') {
        await button('Add a rule').click()
        for (const summary of await page.locator('summary').all()) await summary.click()
      }
      await isCleanEverywhere()
      if (name === 'paths') await button('Undo changes').click()
    })
  }
})

it('another domain is found by part of its name, and shows the same page of its settings', async () => {
  await page.setViewportSize({ width: 1_280, height: 800 })
  await open(`/domains/${SHOP}/settings/robots`)
  await page.getByRole('combobox', { name: 'Switch domain' }).fill('site-2')
  await page.getByRole('option', { name: 'site-29.example.com' }).waitFor()
  await isClean()
  await page.keyboard.press('Enter')
  await isAt('/domains/site-2.example.com/settings/robots')
  await page.getByRole('navigation', { name: 'This domain' }).getByRole('link', { name: 'Renders' }).click()
  await page.getByRole('combobox', { name: 'Switch domain' }).fill(SHOP)
  await page.getByRole('option', { name: SHOP }).click()
  await isAt(`/domains/${SHOP}/renders`)
})

describe('Ctrl K', () => {
  it('finds a setting by another word, and gives its field the focus', async () => {
    await open(`/domains/${SHOP}`)
    await find('TTL', /^Freshness/)
    await isAt(`/domains/${SHOP}/settings/freshness`)
    await find('kept for', /^Kept for/)
    await page.locator(':focus').and(field('Kept for')).waitFor()
  })

  it('asks of which site a setting is, if none is open', async () => {
    await open('/domains')
    await search('soft 404')
    await page.getByRole('option', { name: /^Pages with status 200/ }).click()
    await dialog(/of which site\?$/)
      .getByRole('combobox')
      .fill('site-7')
    await isClean()
    await page.keyboard.press('Enter')
    await isAt('/domains/site-7.example.com/settings/rendering')
  })

  it('finds a site in spite of a wrong letter, and a page of the open one', async () => {
    await find('site-12.exanple', 'site-12.example.com Site')
    await isAt('/domains/site-12.example.com')
    await open(`/domains/${SHOP}`)
    await find('rakes', /^\/garden\/rakes/)
    await isAt(`/domains/${SHOP}/pages`)
  })

  it('pauses a site, and takes it back', async () => {
    const isActive = async () => {
      const { body } = await api.get(`/api/domains/${SHOP}`, owner.key)
      return (body['domain'] as { is_active: boolean }).is_active
    }
    await find(`pause ${SHOP}`, `Pause ${SHOP} Action`)
    await page.getByText(`${SHOP} was paused`).waitFor()
    assert.equal(await isActive(), false)
    await button('Undo').click()
    await until('it is active again', isActive)
  })

  it('has the actions of the open site first, by other words too', async () => {
    await open(`/domains/${SHOP}`)
    await search('offline')
    await options()
      .first()
      .and(page.getByRole('option', { name: `Pause ${SHOP} Action` }))
      .waitFor()
    await page.getByText('Outside this field, ? lists the keys.').waitFor()
    await page.keyboard.press('Escape')
  })

  it('opens what an action needs, also on the screen that is open', async () => {
    await find('invite a member', 'Invite a member Action')
    await dialog('Invite a person').waitFor()
    await isClean()
    await button('Cancel').click()
    await dialog('Invite a person').waitFor({ state: 'detached' })
    await find('invite a member', 'Invite a member Action')
    await dialog('Invite a person').waitFor()
    await button('Cancel').click()
  })

  it('lists what was used recently first', async () => {
    await page.keyboard.press('Control+k')
    await options()
      .first()
      .and(page.getByRole('option', { name: 'Invite a member Action' }))
      .waitFor()
    await isClean()
    await page.keyboard.press('Escape')
  })

  it('forgets what was used recently when its person signs out', async () => {
    const editor = await signedIn('editor')
    await editor.goto(`${api.url}/domains`)
    await elements(editor).link(SHOP).waitFor()
    // Enter right after the last letter opens what the whole text finds.
    await search('plan', editor)
    await editor.keyboard.press('Enter')
    await elements(editor).heading('Plan').waitFor()
    const isKept = () => editor.evaluate<boolean>(`'prepaint.recently-used' in localStorage`)
    assert.equal(await isKept(), true)
    await chooseOwn(editor, 'Sign out')
    await elements(editor).heading('Sign in').waitFor()
    assert.equal(await isKept(), false)
    await editor.context().close()
  })

  it('finds routes in the reference of the API', async () => {
    await find('purgePages', /purge/)
    await page.waitForURL(/\/docs#\/.*purgePages$/)
    // The screen that is left aborts what comes while it loads.
    await page.locator('.opblock').first().waitFor()
  })
})

it('a site is paused in its settings after a question, by Ctrl S', async () => {
  const isActive = async () => {
    const { body } = await api.get(`/api/domains/${SHOP}`, owner.key)
    return (body['domain'] as { is_active: boolean }).is_active
  }
  await open(`/domains/${SHOP}/settings/site`)
  await page.locator('#is_active').press(' ')
  await page.keyboard.press('Control+s')
  const asking = dialog(`Pause ${SHOP}?`)
  await asking.getByText(/crawlers get what the origin answers/).waitFor()
  await isClean()
  await button('Cancel', asking).click()
  assert.equal(await isActive(), true)
  await page.keyboard.press('Control+s')
  await button('Pause and save', asking).click()
  await until('it is paused', async () => !(await isActive()))
  await page.locator('#is_active').press(' ')
  await page.keyboard.press('Control+s')
  await until('it is active again', isActive)
  // Until then the screen asks whoever leaves it.
  await page.getByText('Not saved yet').waitFor({ state: 'detached' })
})

it('? lists the keys', async () => {
  await open('/traffic')
  await page.keyboard.press('Shift+?')
  await dialog('Keyboard shortcuts').getByText('Search sites, pages, screens, settings and actions').waitFor()
  await isClean()
})

it('no window complained', () => {
  const unexpected = complaints.filter((line) => !/status of 404/.test(line))
  assert.deepEqual(unexpected, [])
})
