/** What people do with the dashboard, by the names of its elements, on a real node with a real site behind it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Locator } from 'playwright-core'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { elements, openDashboard, signIn, until } from './open-dashboard.ts'

const DOMAIN = 'shop.example.com'
const OPERATOR = 'operator@example.com'
const PASSWORD = 'seven quiet otters paint'
const NEW_PASSWORD = 'eight loud herons sleep'

const dashboard = await openDashboard()
const page = await dashboard.newPage()

const { heading, button, field, link, region, dialog, row, isClean, isCleanHere } = elements(page)
const crawl = (path: string) => edgeRequest(dashboard.node.edge, { host: DOMAIN, path, userAgent: GOOGLEBOT })
const visit = (path: string) => page.goto(dashboard.node.api + path)

it('without any account, a visitor learns where the first link is, and not the link', async () => {
  await visit('/')
  await heading('No account yet').waitFor()
  await page.getByText('npx --no prepaint account first-link').waitFor()
  assert.doesNotMatch(await page.content(), /welcome#/)
  await isClean()
})

it('the link printed at startup creates the account of the operator, once', async () => {
  await page.goto(dashboard.firstLink)
  await heading('Welcome to Prepaint').waitFor()
  // The token is a secret: it is removed from the address bar and the history.
  assert.equal(new URL(page.url()).hash, '')
  await field('E-mail').fill(OPERATOR)
  await field('New password').fill(PASSWORD)
  await field('Repeat the password').fill(`${PASSWORD}s`)
  await button('Create the account').click()
  await page.getByText('The passwords do not match').waitFor()
  await field('Repeat the password').fill(PASSWORD)
  await button('Create the account').click()
  await heading('Sites').waitFor()

  const other = await dashboard.newPage()
  await other.goto(dashboard.firstLink)
  await heading('This link does not work', other).waitFor()
  await other.context().close()
})

it('a domain is added, and errors are shown at their fields', async () => {
  await button('Add a domain').first().click()
  await heading('Add a domain').waitFor()
  const site = field('Address of your site')
  await site.fill('not a name')
  await field('Origin').fill('ftp://files.example.com')
  await button('Add the domain').click()
  await page.locator('[aria-invalid=true]').nth(1).waitFor()
  await isClean()
  // Pasted from the browser.
  await site.fill(`HTTPS://${DOMAIN.toUpperCase()}/cart?x=1`)
  await page.getByText(`${DOMAIN} is available`).waitFor()
  await field('Origin').fill(`http://${DOMAIN}`)
  await site.focus()
  await page.getByText('This is the domain itself').waitFor()
  await field('Origin').fill(dashboard.originUrl)
  await page.getByText('The server responds with status 200.').waitFor()
  await button('Add the domain').click()
  await heading(`Set up ${DOMAIN}`).waitFor()
})

it('before anything is changed, the home page is shown as crawlers and as people get it', async () => {
  assert.equal(new URL(page.url()).search, `?domain=${DOMAIN}&step=way`)
  const home = region('Your home page, for crawlers and for people')
  await home.getByRole('img', { name: 'For crawlers: /' }).waitFor()
  await home.getByRole('img', { name: 'For people: /' }).waitFor()
  await isClean()
  await page.reload()
  await heading(`Set up ${DOMAIN}`).waitFor()
  await home.getByRole('img', { name: 'For crawlers: /' }).waitFor()
  await button('Go on').click()
  await page.getByText('Waiting for the first request… Run this to send one:').waitFor()
  await page.getByText(`${DOMAIN}. 300 `).waitFor()
  await isClean()
  await link('Do this later').click()
  await heading(DOMAIN).waitFor()
})

it('the checklist leads to the first page, before any DNS change', async () => {
  const steps = region('Getting started')
  const state = (title: string, name: string) =>
    steps.getByRole('listitem').filter({ hasText: title }).getByRole('img', { name, exact: true })
  await state('See a page', 'Done').waitFor()
  const home = region('Your home page, for crawlers and for people')
  await home.getByRole('img', { name: 'For people: /' }).waitFor()
  await page.getByText('Nothing wrong.', { exact: true }).waitFor()
  for (const title of ['Point the DNS', 'First crawler visit']) {
    await state(title, 'To do').waitFor()
  }
  await isClean()
  await button('Open the home page', steps).click()
  await page.getByRole('heading', { level: 2, name: '/', exact: true }).waitFor()
  await page.getByText('200', { exact: true }).waitFor()
  await page.goBack()
  await state('See a page', 'Done').waitFor()
})

it('the list of an account with one site has its next step in the row, and the steps below', async () => {
  await visit('/domains')
  await row(new RegExp(`${DOMAIN}.*(DNS|first request)`)).waitFor()
  await region('Getting started').getByText('Point the DNS here').waitFor()
  await isClean()
  await region('Getting started').getByRole('link', { name: 'Show the record' }).click()
  await heading(DOMAIN).waitFor()
})

it('after a crawler visit the page is listed with its crawler; the former address of the list leads to it', async () => {
  assert.equal((await crawl('/')).verdict, 'hit')
  for (const path of ['/about', '/missing']) assert.equal((await crawl(path)).verdict, 'rendered')
  assert.equal((await crawl('/about')).verdict, 'hit')
  assert.equal((await crawl('/broken')).verdict, 'pass; origin-error')
  await page.getByRole('navigation', { name: 'This domain' }).getByRole('link', { name: 'Pages' }).click()
  await row(/Select \/about .* 200 .* rendered/).waitFor()
  await row(/Select \/missing .* 404 /).waitFor()
  await page.reload()
  // Recorded every few seconds.
  await until('the crawler is named', async () => {
    await visit(`/domains/${DOMAIN}/cache`)
    await row(/Select \/about /).waitFor()
    return (await row(/Select \/about .* Googlebot /).count()) === 1
  })
})

it('the cache is warmed, with progress', async () => {
  await button('Warm the cache').click()
  const asking = dialog(`Warm the cache of ${DOMAIN}?`)
  await asking.getByRole('checkbox', { name: /^Only missing/ }).uncheck()
  await isClean()
  await button('Warm', asking).click()
  await region('Warm').getByText(/^Done/).waitFor()
})

// Proves interface 3/1, interface 3/2, interface 5/9
it('a token is created, shown once with a command, used and revoked', async () => {
  await visit(`/domains/${DOMAIN}/tokens`)
  await page.waitForURL(`**/domains/${DOMAIN}/settings/tokens`)
  await field('Name of the new token').fill('deploy')
  await button('Create a token').click()
  const shown = dialog('Token deploy')
  const token = await shown.getByText(/^pp_wh_/).innerText()
  assert.match(await shown.getByText(/^curl /).innerText(), new RegExp(token))
  await isClean()
  // A key pressed by mistake does not lose it.
  await page.keyboard.press('Escape')
  await shown.getByText('Have you copied it? It cannot be shown again.').waitFor()
  await page.locator(':focus').and(button('I have copied it', shown)).waitFor()
  await button('I have copied it', shown).click()
  const refresh = () =>
    fetch(`${dashboard.node.api}/api/webhook/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ urls: ['/about'] }),
    })
  assert.equal((await refresh()).status, 200)
  await button('Revoke deploy').click()
  await button('Revoke', dialog('Revoke deploy?')).click()
  await row(/^deploy .* revoked/).waitFor()
  assert.equal((await refresh()).status, 401)
})

it('a page in detail shows what crawlers and people get side by side', async () => {
  await until('it is stored again', async () => (await crawl('/about')).verdict === 'hit')
  await visit(`/domains/${DOMAIN}/pages`)
  await link('/about').click()
  await page.getByRole('heading', { level: 2, name: '/about' }).waitFor()
  await button('Inspect now').click()
  for (const side of [/crawler/i, /person|people/i]) {
    await page.getByRole('img', { name: side }).first().waitFor({ timeout: 60_000 })
  }
})

it('a rule says what it does while one types, names what is wrong at its field, and is saved with what to know about it', async () => {
  await visit(`/domains/${DOMAIN}/settings/paths`)
  const [first, second] = [1, 2].map((at) => page.getByRole('group', { name: `Rule ${at}`, exact: true }))
  for (const rule of [first!, second!]) {
    await button('Add a rule').click()
    await field('Path', rule).fill('/product*')
    assert.equal(await rule.getByLabel('Crawlers get').inputValue(), '')
    await rule.getByLabel('Crawlers get').selectOption('pass')
    await rule.getByText('Crawlers that ask for /product* get the origin.').waitFor()
  }
  const action = first!.getByLabel('Crawlers get')
  await fold(first!, 'Freshness').click()
  await first!.getByText('These have no effect while crawlers get the origin.').waitFor()
  assert.equal(await field('Fresh for', first!).isDisabled(), true)
  await action.selectOption('')
  assert.equal(await field('Fresh for', first!).isDisabled(), false)
  await action.selectOption('no-store')
  // The groups are folded until they are opened, or have values.
  const selector = field('Wait for the element', first!)
  assert.equal(await selector.isVisible(), false)
  await fold(first!, 'Rendering').click()
  await selector.fill('..price')
  await button('Save').click()
  await first!.getByText(/^Selector cannot be read/).waitFor()
  await page.locator(':focus').and(selector).waitFor()
  assert.doesNotMatch(await page.locator('body').innerText(), /settings\.|rules\[/)
  await isClean()
  await selector.fill('.price')
  await first!.getByText(/^Selector cannot be read/).waitFor({ state: 'detached' })
  await first!.getByText('get pages only once .price is there').waitFor()
  await button('Save').click()
  await page.getByText('Rule 2 never applies: rule 1 matches the same pages first.').waitFor()
  await isClean()
  await page.reload()
  // It has a value, so its group is open, and says so.
  await fold(first!, 'Rendering').getByText('1 value').waitFor()
  assert.equal(await selector.inputValue(), '.price')
  await fold(first!, 'JSON').click()
  const json = field('The rule as JSON', first!)
  assert.match(await json.inputValue(), /"wait_for": "\.price"/)
  await second!.getByTitle('Drag to order').dragTo(json)
  await until('the second is the first', async () => (await action.inputValue()) === 'pass')
  for (const _rule of [1, 2]) await button('Remove rule 1').click()
  await button('Save').click()
  await page.getByText('Saved. The settings apply from the next request.').waitFor()
})

/** The head of a folded group. */
function fold(rule: Locator, title: string): Locator {
  return rule.locator('summary', { hasText: title })
}

it('a site that is to be paused says what crawlers get then, and how pages leave the index', async () => {
  await visit(`/domains/${DOMAIN}/settings/site`)
  const warning = page.getByText('This takes no page out of search.')
  assert.equal(await warning.count(), 0)
  await page.getByRole('switch', { name: 'Active' }).click()
  await warning.waitFor()
  await isClean()
  await page.getByRole('switch', { name: 'Active' }).click()
  await visit(`/domains/${DOMAIN}/settings/freshness`)
  await page.getByRole('link', { name: 'Freshness of single paths' }).click()
  await page.getByRole('heading', { name: 'Path rules', exact: true }).waitFor()
})

it('after rules are saved, the bar says how many pages were made under others, and makes them stale', async () => {
  await visit(`/domains/${DOMAIN}/settings/paths`)
  const rule = page.getByRole('group', { name: 'Rule 1', exact: true })
  await button('Add a rule').click()
  await field('Path', rule).fill('/about')
  await rule.getByLabel('Crawlers get').selectOption('')
  await fold(rule, 'Changes to the page').click()
  await field('Title', rule).fill('About us')
  await button('Save').click()
  await page.getByText('1 page was made under other rules').waitFor()
  await button('Mark stale').waitFor()
  await isClean()
  await button('Mark stale').click()
  await page.getByText('These pages are stale now').waitFor()
  await page.getByText('1 page was made under other rules').waitFor({ state: 'detached' })
  await button('Remove rule 1').click()
  await button('Save').click()
  // The button is disabled while it saves, too.
  await page.getByText('Not saved yet').waitFor({ state: 'detached' })
})

it('rules are tried on pages before they are saved', async () => {
  await visit(`/domains/${DOMAIN}/settings/paths`)
  await button('Add a rule').click()
  const rule = page.getByRole('group', { name: 'Rule 1', exact: true })
  await field('Path', rule).fill('/about')
  await rule.getByLabel('Crawlers get').selectOption('render')
  await fold(rule, 'Changes to the page').click()
  await field('Title', rule).fill('Tried title')
  await fold(rule, 'Freshness').click()
  await field('Fresh for', rule).fill('1 h')
  await field('Try on these pages').fill('/about')
  await button('Try these rules').click()
  const found = region('What the rules change')
  await found.getByText('title: Tried title').waitFor({ timeout: 60_000 })
  await found.getByText('Search, desktops: Before: no rule. After: rule 1.').waitFor()
  await found.getByText('Fresh for 24 h → 1 h').waitFor()
  for (const side of ['before', 'after']) {
    const shown = `document.querySelector('img[alt="/about ${side}"]')?.naturalWidth > 0`
    await until(`the picture of the page ${side} is there`, () => page.evaluate<boolean>(shown))
  }
  await isClean()
  await button('Save').click()
  await page.getByText('Saved. The settings apply from the next request.').waitFor()
  await page.reload()
  assert.equal(await field('Path', rule).inputValue(), '/about')
  await button('Remove rule 1').click()
  await button('Save').click()
  await page.getByText('Saved. The settings apply from the next request.').waitFor()
})

it('a header for the origin is kept without its value, and its rules for firewalls are shown', async () => {
  await visit(`/domains/${DOMAIN}/settings/access`)
  const access = region('Access to the origin')
  await field('Header', access).fill('X-Origin-Secret')
  await access.getByLabel('Value').fill('canary')
  await access.getByLabel('Sent with').selectOption('all')
  await access.getByText('This opens the origin to every client').waitFor()
  await isClean()
  await button('Save the header', access).click()
  await access.getByText('with all requests').waitFor()
  await access.getByText('Let Prepaint through your firewall').click()
  await access.getByText('any(http.request.headers["x-origin-secret"][*] eq "SECRET")').waitFor()
  await isClean()
  assert.doesNotMatch(await page.content(), /canary/)
  await button('Remove X-Origin-Secret', access).click()
  await button('Remove', dialog('Remove X-Origin-Secret?')).click()
  await access.getByText('with all requests').waitFor({ state: 'detached' })
})

it('settings are saved and survive a reload; unsaved changes are not lost without a question', async () => {
  await visit(`/domains/${DOMAIN}/settings/freshness`)
  await field('Fresh for').fill('12 h')
  await button('Save').click()
  await page.getByText('Saved. The settings apply from the next request.').waitFor()
  await until('nothing is left to save', () => button('Save').isDisabled())
  await page.reload()
  assert.equal(await field('Fresh for').inputValue(), '12 h')
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Rendering' }).click()
  await field('Locale').fill('de-CH')
  const asking = page.getByRole('dialog')
  for (const away of [link('Renders'), link('Freshness')]) {
    await away.click()
    await asking.waitFor()
    await isClean()
    await button('Stay', asking).click()
    assert.equal(await field('Locale').inputValue(), 'de-CH')
  }
  for (const answer of ['Stay', 'Leave']) {
    await page.evaluate('history.back()')
    assert.equal(new URL(page.url()).pathname, `/domains/${DOMAIN}/settings/rendering`)
    await button(answer, asking).click()
    await asking.waitFor({ state: 'detached' })
  }
  await field('Fresh for').waitFor()
  await page.goForward()
  assert.equal(await field('Locale').inputValue(), '')
  // Without changes, one step back leaves the screen.
  await field('Locale').fill('de-CH')
  await button('Undo changes').click()
  await until('the way back is free', () => page.evaluate<boolean>('history.state === null'))
})

it('Ctrl K finds pages', async () => {
  await visit(`/domains/${DOMAIN}`)
  await heading(DOMAIN).waitFor()
  await page.keyboard.press('Control+k')
  await dialog('Search').getByRole('combobox').fill('miss')
  await page.getByRole('option', { name: /^\/missing/ }).waitFor()
  await isClean()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 2, name: '/missing' }).waitFor()
})

// Proves interface 3/1, interface 3/2, interface 5/5
it('a key is created, shown once, used by a program and revoked', async () => {
  await link('API keys').click()
  await field('Name').fill('agency scripts')
  await page.getByLabel('Expiry').selectOption('Expires in 30 days')
  await button('Create').click()
  const shown = page.getByRole('dialog')
  const shownKey = shown.getByText(/^pp_(?!wh)/).first()
  const key = await shownKey.innerText()
  await button('I have copied it', shown).click()
  const domains = () => fetch(`${dashboard.node.api}/api/domains`, { headers: { 'x-api-key': key } })
  assert.equal((await domains()).status, 200)
  await button('Revoke agency scripts').click()
  await button('Revoke', page.getByRole('dialog')).click()
  await row(/^agency scripts .* revoked/).waitFor()
  assert.equal((await domains()).status, 401)
})

it('the operator invites an owner, who sees only their own account', async () => {
  assert.equal(await link('Accounts').count(), 0)
  await button('Operator').click()
  await link('Accounts').click()
  await button('Invite an owner').click()
  const inviting = page.getByRole('dialog')
  await field('E-mail', inviting).fill('owner@example.com')
  await button('Create the link', inviting).click()
  const invitation = await page.getByText(/\/welcome#pp_in_/).innerText()
  await button('I have copied it').click()
  // The operator again, with a clock that the test controls.
  const watching = await dashboard.newPage()
  await watching.clock.install()
  await watching.goto(`${dashboard.node.api}/operator/accounts`)
  await signIn(watching, OPERATOR, PASSWORD)
  await watching.getByText('Live', { exact: true }).waitFor()
  await watching.getByLabel('Plan of operator@example.com').waitFor()

  const guest = await dashboard.newPage()
  await guest.goto(invitation.trim())
  await field('New password', guest).fill(PASSWORD)
  await field('Repeat the password', guest).fill(PASSWORD)
  await button('Create my account', guest).click()
  await guest.getByRole('region', { name: 'Getting started' }).waitFor()
  const planOfOwner = watching.getByLabel('Plan of owner@example.com')
  assert.equal(await planOfOwner.count(), 0)
  await watching.clock.fastForward(15_000)
  await planOfOwner.waitFor()
  await watching.context().close()
  assert.equal(await guest.getByText('Operator', { exact: true }).count(), 0)
  await guest.goto(`${dashboard.node.api}/domains/${DOMAIN}`)
  await guest
    .getByText(/not registered|no such|not found|nothing here/i)
    .first()
    .waitFor()
  await guest.goto(`${dashboard.node.api}/operator/accounts`)
  await heading('Page not found', guest).waitFor()
  assert.equal(await guest.getByText(OPERATOR).count(), 0)
  await guest.context().close()
})

it('the operator undoes a change of plan, and sees failures', async () => {
  await visit('/operator/accounts')
  const plan = page.getByLabel('Plan of owner@example.com')
  const before = await plan.inputValue()
  await plan.selectOption('agency_plus')
  await page.getByText('owner@example.com now has the plan agency_plus').waitFor()
  await button('Undo').click()
  await page.getByText(`owner@example.com now has the plan ${before}`).waitFor()
  await page.reload()
  assert.equal(await plan.inputValue(), before)
  await link('Failures').click()
  await page.getByText('server error').first().waitFor()
})

const ofDomain = ['', '/traffic', '/pages', '/renders']
const settings =
  'site freshness paths crawlers rendering forms robots redirects sitemap access certificate tokens delete'
const views = ['compare', 'facts', 'source', 'renders', 'history', 'preview']
const screens = [
  ...[
    '/domains',
    '/domains/nobody.example.com',
    '/traffic',
    '/keys',
    '/members',
    '/plan',
    '/account',
    '/account/security',
  ],
  ...ofDomain.map((screen) => `/domains/${DOMAIN}${screen}`),
  ...settings.split(' ').map((name) => `/domains/${DOMAIN}/settings/${name}`),
  ...views.map((view) => `/domains/${DOMAIN}/pages?path=%2Fabout&view=${view}`),
  ...['accounts', 'nodes', 'queue', 'failures'].map((screen) => `/operator/${screen}`),
]
for (const path of screens) {
  it(`${path}: axe finds nothing and nothing jumps, on wide screens and phones, light and dark`, async () => {
    await visit(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const loading = page.getByRole('status', { name: 'Loading' })
    await until('all is there', async () => (await loading.count()) === 0)
    // Below 0.1 counts as good (web.dev/cls).
    const jumps = await page.evaluate<number>('jumps')
    assert(jumps < 0.05, `it jumped by ${jumps}`)
    await isClean()
  })
}

it('after a change of password the old one is refused', async () => {
  await visit('/account/security')
  await field('Current password').fill(PASSWORD)
  await field('New password').fill(NEW_PASSWORD)
  await field('Repeat the password').fill(NEW_PASSWORD)
  await button('Change the password').click()
  await page.getByText('Password changed').waitFor()
  await button('Sign out everywhere').click()
  await button('Sign out', page.getByRole('dialog')).click()
  await heading('Sign in').waitFor()
  await isCleanHere()
  await signIn(page, OPERATOR, PASSWORD)
  const refusal = page.getByText('Wrong e-mail or password')
  await refusal.waitFor()
  await field('Password').press('x')
  await refusal.waitFor({ state: 'detached' })
  await signIn(page, OPERATOR, NEW_PASSWORD)
  await link('Sites').click()
  await heading('Sites').waitFor()
})

it('a domain is deleted after its name is typed, and is no longer served', async () => {
  await link(DOMAIN).click()
  await page.getByRole('navigation', { name: 'This domain' }).getByRole('link', { name: 'Settings' }).click()
  await link('Delete this domain').click()
  await button('Delete').click()
  const asking = dialog(`Delete ${DOMAIN}?`)
  await field(`Type ${DOMAIN} to confirm`, asking).fill('another.example')
  assert.equal(await button('Delete the domain', asking).isDisabled(), true)
  await isCleanHere()
  await field(`Type ${DOMAIN} to confirm`, asking).fill(DOMAIN)
  await button('Delete the domain', asking).click()
  await region('Getting started').waitFor()
  assert.equal((await crawl('/about')).status, 404)
})

it('an unknown address says so, with a session and without', async () => {
  for (const on of [page, await dashboard.newPage()]) {
    const response = await on.goto(`${dashboard.node.api}/nowhere`)
    assert.equal(response?.status(), 404)
    await heading('Page not found', on).waitFor()
    await isClean(on)
    if (on !== page) await on.context().close()
  }
})

it('one signs out and in by keyboard alone', async () => {
  await page.goto(`${dashboard.node.api}/domains`)
  await heading('Sites').waitFor()
  // Until the list is loaded, nothing in the content takes the focus.
  await region('Getting started').waitFor()
  await page.keyboard.press('Tab')
  await page.locator(':focus').and(link('Skip to content')).waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.locator('main :focus').waitFor()
  await page.getByRole('button', { name: /\. Your menu$/ }).focus()
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
  await page.keyboard.press('Enter')
  await heading('Sign in').waitFor()
  await field('E-mail').focus()
  await page.keyboard.type(OPERATOR)
  await page.keyboard.press('Tab')
  await page.keyboard.type(NEW_PASSWORD)
  await page.keyboard.press('Enter')
  await link('Sites').waitFor()
})

it('no window has logged anything but expected refusals', () => {
  assert.equal(dashboard.complaints.filter((line) => !/status of (400|401|404)/.test(line)).join(), '')
})
