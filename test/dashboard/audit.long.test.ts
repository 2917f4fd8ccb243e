/** How an admin reads, filters and exports the audit log, and who does not see it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { elements, openScreens, openWindow, until } from './open-dashboard.ts'

const { api, owner, page, open, complaints } = await openScreens(async (its, account) => {
  const { name } = await its.domain(account, 'shop.example.com')
  await its.domain(account, 'blog.example.com')
  // More than are listed at once.
  await its.pool.query(
    `select record_audit($1, '{"kind":"person","name":"someone@example.com"}', 'cache.purged', null, null, '{}')
       from generate_series(1, 110)`,
    [account.id],
  )
  await createToken(its.pool, account.id, name, 'deploys', DEFAULT_PLANS)
})
const { button, field, row, link, isClean, isCleanEverywhere } = elements(page)

it('the owner sees who changed what, and filters it by what, who and domain', async () => {
  await open('/audit-log')
  await row(/Token: created.*deploys/)
    .first()
    .waitFor()
  await isCleanEverywhere()
  await page.getByRole('combobox', { name: 'What' }).selectOption('token.*')
  await until('one entry is left', async () => (await page.getByRole('row').count()) === 2)
  await page.getByRole('combobox', { name: 'What' }).selectOption('')
  await field('Domain').fill('blog.example.com')
  await row(/Domain: added.*blog\.example\.com/).waitFor()
  await until('the others are gone', async () => (await row(/shop\.example\.com/).count()) === 0)
  await field('Domain').fill('')
  await field('Who').fill('nobody@example.com')
  await page.getByText('No entry by nobody@example.com').waitFor()
  await isClean()
  await button('Show all entries').click()
  assert.equal(await field('Who').inputValue(), '')
})

it('older entries follow, and what is filtered is exported', async () => {
  await row(/Token: created.*deploys/).waitFor()
  const before = await page.getByRole('row').count()
  await button('Show older entries').click()
  await until('more are shown', async () => (await page.getByRole('row').count()) > before)
  await page.getByRole('combobox', { name: 'What' }).selectOption('token.*')
  await until('one entry is left', async () => (await page.getByRole('row').count()) === 2)
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export CSV').click()])
  assert.equal(download.suggestedFilename(), 'audit-log.csv')
  const lines = readFileSync(await download.path(), 'utf8')
    .trimEnd()
    .split('\r\n')
  assert.equal(lines.length, 2)
  assert.match(lines[1]!, /token\.created/)
})

it('an editor sees neither the screen nor its entry in the menu', async () => {
  const person = await addPerson(api.pool, { email: 'editor@example.com', password: null })
  await addMember(api.pool, owner.id, person, { role: 'editor', domains: null })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const editor = await openWindow(page, { url: api.url, token: started!.token })
  await editor.goto(`${api.url}/domains`)
  await elements(editor).heading('Sites', editor).waitFor()
  assert.equal(await elements(editor).link('Audit log').count(), 0)
  await editor.context().close()
  assert.equal(await link('Audit log').count(), 1)
})

it('no window complained', () => {
  assert.deepEqual(complaints, [])
})
