/** How an owner renames the account, exports it, asks for its deletion and returns. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { elements, openScreens, until } from './open-dashboard.ts'

const { api, owner, page, open, complaints } = await openScreens(async (its, account) => {
  await its.domain(account, 'shop.example.com')
})
const { button, dialog, field, isClean, isCleanEverywhere } = elements(page)

it('the owner renames the account and exports it', async () => {
  await open('/account')
  await field('Account name').fill('Garden tools Ltd')
  await isCleanEverywhere()
  await button('Save').click()
  await page.getByText('Garden tools Ltd').first().waitFor()
  const named = 'select name from account where id = $1'
  await until('it is stored', async () => {
    return (await api.database.column(named, owner.id))[0] === 'Garden tools Ltd'
  })
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export the account').click()])
  assert.match(readFileSync(await download.path(), 'utf8'), /"kind":"domain".*shop\.example\.com/)
})

it('the owner asks for the deletion by the name of the account, sees when it will be, and returns', async () => {
  await open('/account')
  await button('Delete the account').click()
  const form = dialog('Delete the account?')
  await form.getByRole('textbox').fill('another')
  await button('Delete in 7 days', form).click()
  await page.getByText('This is not the name of the account').waitFor()
  await isClean()
  await form.getByRole('textbox').fill('Garden tools Ltd')
  await button('Delete in 7 days', form).click()
  await page.getByText(/This account will be deleted at/).waitFor()
  await isCleanEverywhere()
  await button('Keep the account').click()
  await button('Delete the account').waitFor()
  assert.deepEqual(complaints, [])
})
