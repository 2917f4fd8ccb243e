/** How a person sets up a second factor and passkeys, signs in with them, and confirms who it is. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { findContact } from '@prepaint/service/accounts/persons.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { Secret, TOTP } from 'otpauth'
import { chooseOwn, elements, openScreens, signIn } from './open-dashboard.ts'

const PASSWORD = 'correct horse'
const MINUTE_MS = 60_000
const CONFIRM_MS = 15 * MINUTE_MS

const { api, owner, page, complaints } = await openScreens(async (its, account) => {
  const { id } = await findContact(its.pool, account.id)
  await transaction(its.pool, (client) => setPassword(client, id, PASSWORD))
})
const { button, dialog, field, heading, row, isClean, isCleanEverywhere } = elements(page)
// Browsers take no passkeys for an address.
const base = api.url.replace('127.0.0.1', 'localhost')
const open = (path: string) => page.goto(base + path)

let app: TOTP | null = null
let recoveryCodes: string[] = []

/** A code of the authenticator app that was not used yet: half a minute passes. */
function nextCode(): string {
  assert(app !== null)
  api.clock.atMs += MINUTE_MS / 2
  return app.generate({ timestamp: api.clock.atMs })
}

async function signOut(): Promise<void> {
  await chooseOwn(page, 'Sign out')
  await heading('Sign in').waitFor()
}

it('a person sets up an authenticator app, and gets recovery codes once', async () => {
  await open('/sign-in')
  await heading('Sign in').waitFor()
  await isCleanEverywhere()
  await signIn(page, owner.email, PASSWORD)
  await chooseOwn(page, 'Password and second factors')
  await heading('Security').waitFor()
  await page.getByText('You have no passkey.').waitFor()
  await isCleanEverywhere()

  await button('Set up an app').click()
  const setUp = dialog('Set up an authenticator app')
  await setUp.getByRole('img', { name: 'QR code of the key' }).waitFor()
  await isCleanEverywhere()
  const key = await setUp.locator('pre').innerText()
  app = new TOTP({ secret: Secret.fromBase32(key.trim()) })
  await field('Code of your authenticator app', setUp).fill('000000')
  await button('Turn it on').click()
  await setUp.getByText('Wrong code').waitFor()
  await field('Code of your authenticator app', setUp).fill(nextCode())
  await button('Turn it on').click()
  const shown = dialog('Your recovery codes')
  recoveryCodes = (await shown.locator('pre').innerText()).trim().split('\n')
  assert.equal(recoveryCodes.length, 10)
  await isCleanEverywhere()
  await button('I have copied it').click()
  await page.getByText('Recovery codes left: 10').waitFor()
  await isCleanEverywhere()
})

it('the next sign-in asks for a code; a recovery code does as well', async () => {
  await signOut()
  await signIn(page, owner.email, PASSWORD)
  await heading('Second factor').waitFor()
  await isCleanEverywhere()
  await field('Code of your authenticator app').fill('000000')
  await button('Sign in').click()
  await page.getByText('Wrong code').waitFor()
  await field('Code of your authenticator app').fill(nextCode())
  await button('Sign in').click()
  await heading('Sites').waitFor()

  await signOut()
  await signIn(page, owner.email, PASSWORD)
  await button('Use a recovery code').click()
  await field('Recovery code').waitFor()
  await isCleanEverywhere()
  await field('Recovery code').fill(recoveryCodes[0]!)
  await button('Sign in').click()
  await heading('Sites').waitFor()
})

it('a passkey is added after the person has confirmed who it is', async () => {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  api.clock.atMs += CONFIRM_MS
  await open('/account/security')
  await button('Add a passkey').click()
  await field('Name', dialog('Add a passkey')).fill('Laptop')
  await isClean()
  await button('Go on').click()
  const confirm = dialog('Confirm that it is you')
  await confirm.waitFor()
  await isCleanEverywhere()
  await field('Code of your authenticator app', confirm).fill('000000')
  await button('Confirm', confirm).click()
  await confirm.getByText('Wrong code').waitFor()
  await field('Code of your authenticator app', confirm).fill(nextCode())
  await button('Confirm', confirm).click()
  await row(/Laptop/).waitFor()
  await isCleanEverywhere()
})

it('the passkey signs in without a password, and as a second factor', async () => {
  await signOut()
  await button('Sign in with a passkey').click()
  await heading('Sites').waitFor()
  const { rows } = await api.pool.query('select way, second_factor from session order by id desc limit 1')
  assert.deepEqual(rows, [{ way: 'passkey', second_factor: true }])

  await signOut()
  await signIn(page, owner.email, PASSWORD)
  await heading('Second factor').waitFor()
  await isClean()
  await button('Use a passkey').click()
  await heading('Sites').waitFor()
})

it('a passkey is renamed, and removed after it has confirmed its person', async () => {
  await open('/account/security')
  await button('Rename').click()
  await field('Name', dialog('Rename the passkey')).fill('Old laptop')
  await button('Save').click()
  await row(/Old laptop/).waitFor()
  api.clock.atMs += CONFIRM_MS
  await button('Remove', row(/Old laptop/)).click()
  await button('Remove', dialog('Remove the passkey Old laptop?')).click()
  await button('Use a passkey', dialog('Confirm that it is you')).click()
  await page.getByText('You have no passkey.').waitFor()
})

it('who does not confirm changes nothing', async () => {
  api.clock.atMs += CONFIRM_MS
  await button('Remove the app').click()
  await button('Remove', dialog('Remove the authenticator app?')).click()
  await button('Cancel', dialog('Confirm that it is you')).click()
  await dialog('Remove the authenticator app?').getByText('Confirm that it is you').waitFor()
  await button('Cancel', dialog('Remove the authenticator app?')).click()
  await page.getByText('Recovery codes left: 9').waitFor()
})

it('an owner sets the security of the account in its settings, but requires no second factor before having one', async () => {
  await api.pool.query('delete from second_factor; delete from passkey')
  const { id } = await findContact(api.pool, owner.id)
  await api.pool.query('update session set confirmed_at = $2 where person_id = $1', [
    id,
    new Date(api.clock.atMs),
  ])
  await open('/account')
  await field('Sign in again after hours').fill('0')
  await button('Save security settings').click()
  await page.getByText('Enter a whole number from 1 to 720, or leave it empty').waitFor()
  await isCleanEverywhere()
  await field('Sign in again after hours').fill('720')
  await page.getByRole('checkbox', { name: 'Members need a second factor' }).check()
  await button('Save security settings').click()
  await page.getByText('Set up a second factor for yourself first').waitFor()
  await page.getByRole('checkbox', { name: 'Members need a second factor' }).uncheck()
  await button('Save security settings').click()
  await page.getByText('The security settings were saved').waitFor()
  const policyNow = 'select second_factor_required, session_hours from account where id = $1'
  assert.deepEqual((await api.pool.query(policyNow, [owner.id])).rows, [
    { second_factor_required: false, session_hours: 720 },
  ])
})

it('nothing but refusals was written into the console', () => {
  assert.deepEqual(
    complaints.filter((line) => !/status of 40[0-39]/.test(line)),
    [],
  )
})
