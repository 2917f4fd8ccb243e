/** What an owner sees of the proof of a name: nothing, unless it is asked for or lost. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { elements, openScreens } from './open-dashboard.ts'

let shop: DomainId
const { api, page, open, complaints } = await openScreens(async (its, account) => {
  shop = (await its.domain(account, 'shop.example.com')).id
  await its.domain(account, 'plain.example.com')
})
const { button, isCleanEverywhere, region } = elements(page)
const PICTURES = process.env['PREPAINT_TEST_PICTURES']

async function proofIs(columns: string): Promise<void> {
  await api.pool.query('delete from domain_proof')
  await api.pool.query(
    `insert into domain_proof (domain_id, account_id, state, served, reason, method, asked_at, checked_at, deadline, error)
     select id, account_id, ${columns} from domain where id = $1`,
    [shop],
  )
}

async function picture(name: string): Promise<void> {
  if (PICTURES === undefined) return
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    for (const width of [390, 768, 1_024, 1_440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: `${PICTURES}/${name}-${width}-${scheme}.png`, fullPage: true })
    }
  }
}

it('a domain that nobody asked about says nothing of it', async () => {
  await open('/domains/plain.example.com')
  await region('Current state').waitFor()
  await region('How crawlers come').waitFor()
  assert.equal(await page.getByText('prepaint-proof').count(), 0)
})

it('a domain that is asked shows the three ways, and a check says why it found none', async () => {
  const error =
    'The name leads to this installation, which cannot prove it by its own answers. Add the TXT record: the file and the tag are not looked at.'
  await proofIs(`'asked', false, 'takeover', null, now(), now(), null, '${error}'`)
  await open('/domains/shop.example.com')
  const card = region('Prove that the name is yours')
  await card.getByText('shop.example.com is not served yet').waitFor()
  await card.getByText('_prepaint.shop.example.com').waitFor()
  await card.getByText('https://shop.example.com/.well-known/prepaint-proof.txt').waitFor()
  await card.getByText(/<meta name="prepaint-proof"/).waitFor()
  await card.getByText(error).waitFor()
  await picture('asked')
  await isCleanEverywhere()
  await button('Copy: Value', card).click()
  await card.getByText('Copied').waitFor()
  await button('Check now', card).click()
  await card.getByText('Nothing was asked.').waitFor()
})

it('the last step of adding a domain shows it, too', async () => {
  await open('/domains/add?domain=shop.example.com&step=connect')
  await region('Prove that the name is yours').waitFor()
  await region('Connect').waitFor()
  assert.equal(await page.getByText('Waiting for the first request').count(), 0, 'none is answered before')
  await picture('add')
})

it('a domain of before says until when it is served', async () => {
  await proofIs(`'asked', true, 'required', null, now(), null, now() + interval '30 days', null`)
  await open('/domains/shop.example.com')
  const card = region('Prove that the name is yours')
  await card.getByText(/The site is served without a proof until/).waitFor()
  await card.getByText('Not checked yet.').waitFor()
})

it('a lost proof is told, here and in the list of sites', async () => {
  await proofIs(
    `'lost', true, null, 'dns', now(), now(), null, 'Found neither the TXT record, nor the file, nor the tag.'`,
  )
  await open('/domains')
  await page.getByText('The proof that the name is yours is gone').first().waitFor()
  await open('/domains/shop.example.com')
  const card = region('The proof of the name is gone')
  await card.getByText(/The site is served on/).waitFor()
  await picture('lost')
  assert.deepEqual(complaints, [])
})
