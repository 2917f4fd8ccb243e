/** How an owner invites people, what their roles show them, and how somebody goes from one account to another. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMember, findMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type { Page } from 'playwright-core'
import { elements, openScreens, openWindow, until } from './open-dashboard.ts'

const PASSWORD = 'correct horse'
const DOMAINS = ['shop.example.com', 'blog.example.com']

const { api, owner, page, open, complaints } = await openScreens(async (its, account) => {
  for (const name of DOMAINS) await its.domain(account, name)
  await its.pool.query(`update account set name = 'Garden tools Ltd' where id = $1`, [account.id])
})
const { button, dialog, field, row, link, isClean, isCleanEverywhere } = elements(page)

it('the owner invites a client for one domain, and gets the link once', async () => {
  await open('/members')
  await row(new RegExp(owner.email)).waitFor()
  await isCleanEverywhere()
  await button('Invite a person').click()
  await field('E-mail', dialog('Invite a person')).fill('client@example.com')
  await button('Invite', dialog('Invite a person')).click()
  await dialog('Invite a person').getByText('Choose a role', { exact: true }).last().waitFor()
  await page.getByRole('combobox', { name: 'Role' }).selectOption('client')
  await button('Invite', dialog('Invite a person')).click()
  await page.getByText('Choose at least one domain').waitFor()
  await page.getByLabel('shop.example.com').check()
  await isClean()
  await button('Invite', dialog('Invite a person')).click()
  const shown = await page.getByText(/\/welcome#pp_in_/).innerText()
  await isClean()
  await button('I have copied it').click()
  await row(/client@example\.com/).waitFor()
  await isCleanEverywhere()

  const guest = await openWindow(page)
  await guest.goto(shown.trim())
  await guest.getByRole('heading', { level: 1, name: 'Join Garden tools Ltd' }).waitFor()
  await guest.getByText(/as client\. You will be able to see .* reports of shop\.example\.com\.$/).waitFor()
  await isClean(guest)
  await field('Password', guest).fill(PASSWORD)
  await elements(guest).button('Join the account').click()
  await elements(guest).heading('Sites', guest).waitFor()
  await onlyShowsShop(guest)
  await guest.context().close()
})

async function onlyShowsShop(guest: Page): Promise<void> {
  const { button: buttonOf, link: linkOf } = elements(guest)
  await linkOf('shop.example.com').waitFor()
  assert.equal(await guest.getByText('blog.example.com').count(), 0)
  assert.equal(await buttonOf('Add a domain').count(), 0)
  for (const hidden of ['API keys', 'Members', 'Plan', 'Notifications']) {
    assert.equal(await linkOf(hidden).count(), 0, hidden)
  }
  await linkOf('shop.example.com').click()
  await guest.getByRole('navigation', { name: 'This domain' }).waitFor()
  assert.equal(await linkOf('Settings').count(), 0)
  await linkOf('Pages').click()
  await guest.getByText('No page is cached yet').waitFor()
  assert.equal(await buttonOf('Purge all').count(), 0)
  await isClean(guest)
}

it('another role is in effect at once; the last owner cannot leave', async () => {
  await open('/members')
  await button('Actions for client@example.com').click()
  await page.getByRole('menuitem', { name: 'Change the role' }).click()
  await page.getByRole('combobox', { name: 'Role' }).selectOption('viewer')
  await isClean()
  await button('Save').click()
  await page.getByText('client@example.com is now viewer').waitFor()
  const member = await findMember(api.pool, owner.id, 'client@example.com')
  const { rows } = await api.pool.query('select role, domains from member where id = $1', [member])
  assert.partialDeepStrictEqual(rows, [{ role: 'viewer' }])

  await button(`Actions for ${owner.email}`).click()
  await page.getByRole('menuitem', { name: 'Leave the account' }).click()
  await button('Leave', page.getByRole('dialog')).click()
  await page.getByText('The account needs an owner: make another member owner first').waitFor()
  await button('Cancel').click()
})

it('a viewer sees settings and cannot change them', async () => {
  const person = await addPerson(api.pool, { email: 'viewer@example.com', password: null })
  await addMember(api.pool, owner.id, person, { role: 'viewer', domains: null })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const viewer = await openWindow(page, { url: api.url, token: started!.token })
  await viewer.goto(`${api.url}/domains/shop.example.com/settings`)
  await viewer.getByText('Your role can see this, but not change it.').waitFor()
  assert(await viewer.getByRole('textbox', { name: 'Origin' }).isDisabled())
  await isClean(viewer)
  // What a role may not use is neither listed nor shown.
  const pages = viewer.getByRole('navigation', { name: 'Settings' })
  await pages.getByRole('link', { name: 'Certificate' }).waitFor()
  for (const hidden of ['Webhook tokens', 'Delete this domain']) {
    assert.equal(await pages.getByRole('link', { name: hidden }).count(), 0, hidden)
  }
  await viewer.goto(`${api.url}/domains/shop.example.com/settings/delete`)
  await elements(viewer).heading('Page not found', viewer).waitFor()
  await viewer.context().close()
})

it('a person in two accounts goes from one to the other; two windows show both', async () => {
  const second = await api.account()
  await api.pool.query(`update account set name = 'Second Ltd' where id = $1`, [second.id])
  await api.domain(second, 'second.example.com')
  const { rows } = await api.pool.query('select person_id from member where account_id = $1 and role = $2', [
    owner.id,
    'owner',
  ])
  await addMember(api.pool, second.id, rows[0].person_id, { role: 'admin', domains: null })
  await open('/domains')
  await button('Account Garden tools Ltd. Switch account').click()
  await page.getByRole('menuitem', { name: 'Second Ltd (admin)' }).click()
  await link('second.example.com').waitFor()
  await isCleanEverywhere()

  const other = await page.context().newPage()
  await other.goto(`${api.url}/domains`)
  await elements(other).button('Account Second Ltd. Switch account').click()
  await other.getByRole('menuitem', { name: 'Garden tools Ltd (owner)' }).click()
  await elements(other).link('shop.example.com').waitFor()
  await page.reload()
  await link('second.example.com').waitFor()
  await other.close()
  await until('no window has complained but of refusals', () => {
    const unexpected = complaints.filter((line) => !/status of (400|403|409)/.test(line))
    assert.deepEqual(unexpected, [])
    return true
  })
})
