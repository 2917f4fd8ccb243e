/** How an owner shares some domains by a link, what its holder sees, and what keys are limited to. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { elements, openScreens, openWindow, until } from './open-dashboard.ts'

const { api, owner, page, open, complaints } = await openScreens(async (its, account) => {
  for (const name of ['shop.example.com', 'blog.example.com', 'hidden.example.com']) {
    const { id } = await its.domain(account, name)
    await its.pool.query(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($1, $2, 'blocked', now(), $3, $4)`,
      [
        account.id,
        id,
        `Blocked at ${name}`,
        { count: 1, pages: [], changes: [], level: null, advice: 'Secret advice', url: '' },
      ],
    )
    await its.pool.query(
      `insert into traffic_hour values ($1, date_trunc('hour', now()), 'search', 'Googlebot', 'hit', 5, 5, 0, 0, 0, '{1}')`,
      [id],
    )
  }
})
const { button, dialog, field, row, isClean, isCleanEverywhere } = elements(page)

it('the owner makes a link for two domains; its holder sees these without a login, and it ends when it is revoked', async () => {
  await open('/share-links')
  await page.getByText('No share link yet').waitFor()
  await isCleanEverywhere()
  await button('Make a share link').click()
  const form = dialog('Make a share link')
  await field('Name', form).fill('Client of the shop')
  await button('Make the link', form).click()
  await page.getByText('Choose at least one domain').waitFor()
  await page.getByLabel('shop.example.com').check()
  await page.getByLabel('blog.example.com').check()
  await isClean()
  await button('Make the link', form).click()
  const link = (await page.getByText(/\/shared#pp_sh_/).innerText()).trim()
  await isClean()
  await button('I have copied it').click()
  await row(/Client of the shop/).waitFor()
  await isCleanEverywhere()

  const holder = await openWindow(page)
  await holder.goto(link)
  await holder.getByRole('heading', { level: 1, name: owner.email }).waitFor()
  await holder.getByText('Blocked at shop.example.com').first().waitFor()
  await holder.getByText('Crawler visits', { exact: true }).first().waitFor()
  const seen = await holder.locator('body').innerText()
  assert.doesNotMatch(seen, /hidden\.example\.com|Secret advice|Cached pages/)
  await isCleanEverywhere(holder)
  await holder.getByRole('combobox', { name: 'Domain' }).selectOption('blog.example.com')
  await until('one domain is left', async () => (await holder.getByText('Blocked at shop').count()) === 0)

  await button('Revoke Client of the shop').click()
  await button('Revoke', dialog(/Revoke Client of the shop/)).click()
  await holder.getByText('This link shows nothing any more').waitFor()
  await isClean(holder)
  await holder.context().close()
})

it('a key is made with some rights and for named domains, and its row says so', async () => {
  await open('/keys')
  await field('Name').fill('deploys')
  for (const right of ['read', 'write']) await page.getByLabel(new RegExp(`^${right}:`)).uncheck()
  await page.getByLabel('Only named domains').check()
  await button('Create').click()
  await page.getByText('Choose at least one domain').waitFor()
  await page.getByLabel('shop.example.com').check()
  await isClean()
  await button('Create').click()
  await button('I have copied it').click()
  await row(/deploys.*may refresh.*shop\.example\.com.*made by/s).waitFor()
  await isCleanEverywhere()
  const stored = await api.database.column<string>(
    `select rights::text from api_key where account_id = $1 and name = 'deploys'`,
    owner.id,
  )
  assert.deepEqual(stored, ['{refresh}'])
})

it('no window complained but of the link that ended', () => {
  assert.deepEqual(
    complaints.filter((line) => !/status of 401/.test(line)),
    [],
  )
})
