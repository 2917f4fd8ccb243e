/** The list of all sites, of an account with a thousand. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { elements, isWithin, openScreens, until } from './open-dashboard.ts'

const SITES = 1_000

const { api, owner, page, open, run, isClean } = await openScreens(async ({ pool }, { id }) => {
  await pool.query(`update account set plan = 'enterprise' where id = $1`, [id])
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select $1, 'site-' || n || '.example.com', 'https://o.example.net' from generate_series(1, $2::integer) n`,
    [id, SITES],
  )
  await pool.query(
    `insert into domain_tags select id, array['Müller'] from domain where custom_domain like '%1.example.com'`,
  )
  // All but the last one were reached.
  await pool.query(
    `insert into integration_way select id, 'proxy', now(), now(), 'Googlebot', '/' from domain order by id limit $1`,
    [SITES - 1],
  )
  await pool.query(
    `insert into traffic_folded_day (domain_id, day, search_visits, pages, hits, hourly_pages, hourly_hits, lines, visits)
     select id, current_date, 0, 10, 9, '{}', '{}', '[]', id from domain`,
  )
  for (const [name, kind] of [
    ['site-7.example.com', 'origin_unreachable'],
    ['site-8.example.com', 'origin_unreachable'],
    ['site-9.example.com', 'quota_forecast'],
  ]) {
    await pool.query(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence)
       select account_id, id, $2, now(), 'It is so.', $3 from domain where custom_domain = $1`,
      [name, kind, { count: 1, pages: [], changes: [], level: null, advice: '', url: '/' }],
    )
  }
})
const { button, dialog, heading, row } = elements(page)
const names = () =>
  run<string[]>(`[...document.querySelectorAll('[data-at] a')].map((each) => each.textContent)`)
const shown = (what: string, test: (found: string[]) => boolean) =>
  until(what, async () => test(await names()))
const search = page.getByRole('searchbox', { name: 'Search sites' })
const chip = (name: string | RegExp) => page.getByRole('button', { name })
const told = (text: string | RegExp) => page.getByText(text).first().waitFor()

it('sites in trouble stand on top with their causes, then those to set up, then the others by visits', async () => {
  await open('/domains')
  await heading('Sites').waitFor()
  await shown('all sites', (found) => found.length === SITES)
  assert.deepEqual((await names()).slice(0, 5), [
    'site-8.example.com',
    'site-7.example.com',
    'site-9.example.com',
    'site-1000.example.com',
    'site-999.example.com',
  ])
  await told('2 in trouble: Origin unreachable on 2 sites')
  for (const title of ['Needs attention', 'To set up', 'Fine']) {
    await page.getByRole('heading', { level: 2, name: title }).waitFor()
  }
  await told(/visits of crawlers in 7 days$/)
})

it('all rows are in the document, 48 pixels high, and no request is made for each of them', async () => {
  const asked = await run<number>(
    `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/')).length`,
  )
  assert(asked < 10, `${asked} requests`)
  const heights = await run<number[]>(
    `[...new Set([...document.querySelectorAll('[data-at]')].map((each) => each.offsetHeight))]`,
  )
  assert.deepEqual(heights, [48])
})

it('no name is cut at any width, and a finger needs no exact aim', async () => {
  for (const width of [390, 768, 1024, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    const cut = await run<string[]>(
      `[...document.querySelectorAll('[data-at] a')].slice(0, 20).filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent)`,
    )
    assert.deepEqual(cut, [], `at ${width} pixels`)
    const height = await run<number>(`document.querySelector('[data-at]').offsetHeight`)
    assert.equal(height, width === 390 ? 64 : 48)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
})

it('counts are filters, and search, tag and order stand in the address', async () => {
  await chip('2 in trouble').click()
  await shown('those in trouble', (found) => found.length === 2)
  await told('15 visits of crawlers in 7 days')
  assert.equal(new URL(page.url()).search, '?state=trouble')
  await chip('1,000 sites').click()
  await shown('all', (found) => found.length === SITES)
  await page.keyboard.press('/')
  await page.keyboard.type('müll')
  await shown('those of the tag', (found) => found.length === 100)
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Tag' }).selectOption('Müller')
  await button('Name').click()
  await shown('by name', (found) => found.length === 100 && found[0] === 'site-1.example.com')
  await button('Name').click()
  await shown('turned', (found) => found[0] === 'site-991.example.com')
  assert.equal(new URL(page.url()).search, '?tag=M%C3%BCller&sort=-name')
  await page.reload()
  await shown('the same', (found) => found.length === 100 && found[0] === 'site-991.example.com')
  await open('/domains?search=nothing')
  await told('No site has “nothing”')
  await button('Show all sites').click()
  await shown('all', (found) => found.length === SITES)
})

it('back restores the place in the list', async () => {
  await page.getByRole('link', { name: 'site-500.example.com', exact: true }).scrollIntoViewIfNeeded()
  const before = await run<number>('scrollY')
  assert(before > 1_000)
  await page.getByRole('link', { name: 'site-500.example.com', exact: true }).click()
  await heading('site-500.example.com').waitFor()
  await until('the top is shown', async () => (await run('scrollY')) === 0)
  await page.goBack()
  await until('the same place', async () => (await run('scrollY')) === before)
})

it('the first arrow and the first x take the first row', async () => {
  await open('/domains?sort=name&search=site-10')
  await shown('some', (found) => found.length === 12)
  const isFirst = () => run<boolean>(`document.activeElement.closest('[data-at]')?.dataset.at === '0'`)
  await page.keyboard.press('ArrowDown')
  await until('the first row has the focus', isFirst)
  await open('/domains?sort=name&search=site-10')
  await shown('some', (found) => found.length === 12)
  await page.keyboard.press('x')
  await told('1 site selected')
  assert(await isFirst())
})

it('the menu of a row pauses and resumes its site, tags it, and continues its set-up', async () => {
  await open('/domains?search=site-1000')
  const choose = async (item: string) => {
    await button('Actions for site-1000.example.com').click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }
  await choose('Pause')
  await told('1 site paused')
  await choose('Resume')
  await told('1 site resumed')
  await choose('Tags')
  const tags = dialog('Tags of site-1000.example.com')
  await tags.getByLabel('Tags', { exact: true }).first().press('Enter')
  // Enter without text saves nothing.
  assert(await tags.isVisible())
  await isClean()
  await button('Cancel', tags).click()
  await choose('Continue the set-up')
  await heading('Set up site-1000.example.com').waitFor()
})

it('the list says who takes care of an incident', async () => {
  const acknowledge = async (by: string) =>
    api.pool.query(
      `insert into incident_acknowledged (incident_id, acknowledged_by, note)
       select i.id, $1, null from incident i join domain d on d.id = i.domain_id where d.custom_domain = 'site-8.example.com'`,
      [by],
    )
  await acknowledge('anna@example.com')
  await open('/domains?state=trouble')
  await row(/site-8\.example\.com.*acknowledged by anna@example\.com/).waitFor()
  assert.equal(await row(/site-7\.example\.com.*acknowledged/).count(), 0)
  await isClean()
  await api.pool.query('delete from incident_acknowledged')
})

it('arrows move, x and Shift select, and the bar acts on what is selected', async () => {
  await open('/domains?sort=name&search=site-10')
  await shown('some', (found) => found.length === 12)
  await page.getByRole('link', { name: 'site-10.example.com', exact: true }).focus()
  await page.keyboard.press('x')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Shift+X')
  const bar = page.getByRole('region', { name: 'Actions for the selected sites' })
  await bar.getByText('3 sites selected').waitFor()
  await button('Tags', bar).click()
  const tags = dialog('Tags of 3 sites')
  await tags.getByLabel('Tags of all these sites').fill('New client')
  await page.keyboard.press('Enter')
  await isClean()
  await button('Save tags', tags).click()
  await told('Tags of 3 sites changed')
  // It slides in from below.
  await until('the message covers no button of the bar', () =>
    run<boolean>(
      `document.querySelector('.mantine-Notification-root').getBoundingClientRect().bottom <= document.querySelector('[aria-label="Actions for the selected sites"]').getBoundingClientRect().top`,
    ),
  )
  const tagged = () =>
    api.database.column('select domain_id from domain_tags where $1 = any (tags)', 'New client')
  assert.equal((await tagged()).length, 3)
  await button('Undo').click()
  await until('undone', async () => (await tagged()).length === 0)

  await button('Pause', bar).click()
  await told('3 sites paused')
  await row(/site-100\.example\.com.*Paused/).waitFor()
  await button('Resume', bar).click()
  await told('3 sites resumed')
  await button('Delete stored pages', bar).click()
  const deleting = dialog('Delete the stored pages of 3 sites?')
  assert(await button('Delete stored pages', deleting).isDisabled())
  await deleting.getByRole('textbox').fill('3')
  await button('Delete stored pages', deleting).click()
  await told('Stored pages of 3 sites were deleted')
})

it('a template is made of a site, previewed, and copied to others', async () => {
  const settings = { fresh_seconds: 77 }
  await api.call('PUT', '/api/domains/site-1.example.com', { key: owner.key, body: { settings } })
  await open('/domains?sort=name&search=site-1000')
  await page.getByRole('checkbox', { name: 'Select site-1000.example.com' }).click()
  await button('Template').click()
  await button('Make a template', dialog('No template yet')).click()
  const first = dialog('Make a template').getByRole('combobox', { name: 'Settings of' })
  assert.equal(await first.inputValue(), 'site-1000.example.com')
  await until(
    'it lists also those that the list of sites does not show',
    async () => (await first.locator('option').count()) === SITES,
  )
  await page.keyboard.press('Escape')
  await dialog('No template yet').waitFor()
  await page.keyboard.press('Escape')
  await open('/domains?sort=name&search=site-1')
  await button('More').click()
  await page.getByRole('menuitem', { name: 'Templates of settings' }).click()
  await button('Make a template').click()
  const making = dialog('Make a template')
  await making.getByRole('textbox', { name: 'Name' }).fill('Shops')
  await making.getByRole('searchbox', { name: 'Find a site' }).fill('te-1.')
  const found = making.getByRole('combobox', { name: 'Settings of' })
  await until('one is found', async () => (await found.inputValue()) === 'site-1.example.com')
  await button('Make the template', making).click()
  await dialog('Templates of settings').getByText('Shops').waitFor()
  await isClean()
  await page.keyboard.press('Escape')
  for (const name of ['site-1.example.com', 'site-10.example.com']) {
    await page.getByRole('checkbox', { name: `Select ${name}` }).click()
  }
  await button('Template').click()
  const applying = dialog('Copy a template to 2 sites')
  assert(await button('Change the sites', applying).isDisabled())
  await applying.getByRole('combobox', { name: 'Template' }).selectOption('Shops')
  await applying.getByText('1 site changes, 1 site has these settings already.').waitFor()
  await applying.getByText('Its settings: Freshness, Query parameters, Rules').waitFor()
  await isClean()
  await button('Change 1 site', applying).click()
  await told('1 site changed')
  const { body } = await api.get('/api/domains/site-10.example.com', owner.key)
  assert.equal((body['domain'] as { settings: { fresh_seconds: number } }).settings.fresh_seconds, 77)
})

it('a file is checked line by line before its sites are added', async () => {
  await open('/domains')
  await button('More').click()
  await page.getByRole('menuitem', { name: 'Import from a file' }).click()
  const importing = dialog('Import sites')
  await importing
    .getByRole('textbox', { name: 'CSV' })
    .fill(
      'custom_domain,origin_url,tags\nnew.example.net,https://93.184.216.34,A;B\nsite-1.example.com,https://93.184.216.34,',
    )
  await button('Check the file', importing).click()
  await importing.getByText('1 site can be added, 1 line has an error.').waitFor()
  await isClean()
  await importing.getByRole('checkbox', { name: 'Add the others anyway' }).check()
  await button('Add 1 site', importing).click()
  await told('1 site added')
  await search.fill('new.example.net')
  await shown('the new one', (found) => found.length === 1)
})

it('a tag is seen in its row in a window of 1,440 pixels, and the filter shows its whole text', async () => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await open('/domains?search=site-1.ex')
  const isWhole = (selector: string) =>
    run<boolean>(
      `(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth <= clientWidth)(document.querySelector('${selector}'))`,
    )
  await until(
    'the tag is whole',
    async () => (await row('site-1.example.com').getByText('Müller').count()) === 1,
  )
  assert.equal(await isWhole('[data-at] [title="Müller"] > span'), true)
})

it('nothing is found by axe, at all widths, and nothing is wider than the window', async () => {
  await open('/domains?search=site-1')
  await isClean()
  for (const width of [390, 768, 960, 1024, 1200, 1280, 1300, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await isWithin(page, width)
    await until(`nothing of the list is cut off at ${width}`, async () => {
      const cut = await run<number>(
        `Math.max(...[...document.querySelectorAll('[role=table] [data-at]')].map((each) => each.scrollWidth - each.clientWidth))`,
      )
      assert(cut <= 0, `${cut} pixels are cut off`)
      return true
    })
  }
})
