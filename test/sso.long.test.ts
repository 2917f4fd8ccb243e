/** Single sign-on of an installation: a real node and a certified provider, as a person meets them in a browser. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { after, it } from 'node:test'
import Provider, { type Context } from 'oidc-provider'
import type { Page } from 'playwright-core'
import { chooseOwn, elements, openBrowser, until } from './dashboard/open-dashboard.ts'
import { runJson } from './support/command-line.ts'
import { clearDataDir, makeDataDir } from './support/data-dir.ts'
import { freePort, listening } from './support/loopback.ts'
import { type NodeProcess, startNodeProcess } from './support/node-process.ts'

type Person = { email: string; email_verified: boolean; groups: string[] }

/** Whom the provider knows, by login. */
const people: Record<string, Person> = {
  boss: { email: 'boss@example.com', email_verified: true, groups: ['staff', 'prepaint-admins'] },
  ann: { email: 'Ann@example.com', email_verified: true, groups: ['staff'] },
  bob: { email: 'bob@example.com', email_verified: true, groups: [] },
  eve: { email: 'eve@example.com', email_verified: false, groups: [] },
}

const CLIENT = { client_id: 'prepaint', client_secret: 'a secret of the client' }
const SCOPES = 'openid email groups'

const apiPort = await freePort()
const base = `http://127.0.0.1:${apiPort}`
// Another site than that of the dashboard: cookies that are strict stay behind.
const server = http.createServer()
const issuer = `http://localhost:${await listening(server)}`
const provider = createProvider()
server.on('request', (request, response) => {
  void answer(request, response).catch(() => response.writeHead(500).end())
})

const dataDir = makeDataDir()
const SETTINGS = {
  PREPAINT_ROLES: 'api',
  PREPAINT_API_PORT: String(apiPort),
  PREPAINT_PUBLIC_URL: base,
  PREPAINT_CONFIRM_SECONDS: '20',
  PREPAINT_OIDC_ISSUER: issuer,
  PREPAINT_OIDC_CLIENT_ID: CLIENT.client_id,
  PREPAINT_OIDC_CLIENT_SECRET: CLIENT.client_secret,
  PREPAINT_OIDC_NAME: 'Acme',
  PREPAINT_OIDC_OPERATOR_GROUP: 'prepaint-admins',
}
let node: NodeProcess = await startNodeProcess(dataDir, SETTINGS)
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await node.stop()
  server.closeAllConnections()
  server.close()
  await clearDataDir(dataDir)
})

function createProvider(): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return new Provider(issuer, {
    clients: [
      { ...CLIENT, redirect_uris: [`${base}/sign-in/sso/callback`], grant_types: ['authorization_code'] },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'one', alg: 'RS256' }] },
    cookies: { keys: ['a key of the tests'] },
    scopes: SCOPES.split(' '),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: Context, id: string) =>
      people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    // Nobody is asked whether Prepaint may know the address.
    async loadExistingGrant({ oidc }: Context) {
      const { clientId } = oidc.client
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope(SCOPES)
      await grant.save()
      return grant
    },
  })
}

const LOGIN_PAGE = `<!doctype html><html lang="en"><title>Acme</title><h1>Sign in at Acme</h1>
<form method="post"><label>Login <input name="login"></label>
<button>Let me in</button> <button name="deny" value="yes">Deny</button></form></html>`

/** The provider, and its page for signing in. */
async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  if (request.url?.startsWith('/interaction/') !== true) return provider.callback()(request, response)
  if (request.method === 'GET') return void response.setHeader('content-type', 'text/html').end(LOGIN_PAGE)
  const form = new URLSearchParams(await text(request))
  const result = form.has('deny')
    ? { error: 'access_denied', error_description: 'not today' }
    : { login: { accountId: form.get('login') } }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

async function openSignIn(page: Page): Promise<void> {
  await page.goto(`${base}/sign-in`)
  await elements(page).heading('Sign in').waitFor()
}

async function atProvider(page: Page, login: string): Promise<void> {
  await elements(page).heading('Sign in at Acme').waitFor()
  await elements(page).field('Login').fill(login)
  await elements(page).button('Let me in').click()
}

/** A window of a new browser, in which the person has signed in. */
async function signedIn(login: string): Promise<Page> {
  const page = await browser.newPage()
  await openSignIn(page)
  await elements(page).button('Sign in with Acme').click()
  await atProvider(page, login)
  return page
}

const cookies = async (page: Page) =>
  (await page.context().cookies(base)).map(({ name, sameSite, httpOnly }) => ({ name, sameSite, httpOnly }))

const SESSION_COOKIE = { name: 'prepaint-session', sameSite: 'Strict', httpOnly: true }

/** What the dashboard asks for, in that window. */
const ask = (page: Page, method: string, path: string, body?: object) =>
  page.evaluate<{ status: number; body: Record<string, unknown> }>(
    `fetch(${JSON.stringify(path)}, { method: '${method}', headers: { 'content-type': 'application/json' },
      body: ${body === undefined ? 'undefined' : `JSON.stringify(${JSON.stringify(body)})`} })
      .then(async (answer) => ({ status: answer.status, body: await answer.json().catch(() => ({})) }))`,
  )

async function sso(page: Page): Promise<URL> {
  const { body } = await ask(page, 'POST', '/api/session/sso', {})
  return new URL(body['url'] as string)
}

const boss = await browser.newPage()

it('an installation without accounts offers the provider, whose group makes the first operator', async () => {
  await boss.goto(`${base}/domains`)
  const { button, heading, link, isCleanEverywhere } = elements(boss)
  await heading('Sign in').waitFor()
  await isCleanEverywhere()
  await button('Sign in with Acme').click()
  await heading('Sign in at Acme').waitFor()
  assert.deepEqual(await cookies(boss), [{ name: 'prepaint-sso', sameSite: 'Lax', httpOnly: true }])
  await atProvider(boss, 'boss')
  await heading('You are in no account').waitFor()
  assert.equal(new URL(boss.url()).pathname, '/domains')
  assert.deepEqual(await cookies(boss), [SESSION_COOKIE])
  await button('Operator').click()
  await link('Accounts').waitFor()
  await isCleanEverywhere()
})

it('the provider asks nothing again, and a person who left the group is no operator', async () => {
  const { button, heading } = elements(boss)
  await chooseOwn(boss, 'Sign out')
  await heading('Sign in').waitFor()
  people['boss']!.groups = ['staff']
  await button('Sign in with Acme').click()
  await heading('You are in no account').waitFor()
  assert.equal(await button('Operator').count(), 0)
  people['boss']!.groups = ['prepaint-admins']
  await chooseOwn(boss, 'Sign out')
  await button('Sign in with Acme').click()
  await button('Operator').waitFor()
})

it('a person who is refused, or whose address is not verified, is told so and has no cookie', async () => {
  const page = await browser.newPage()
  const { button, isCleanEverywhere } = elements(page)
  await openSignIn(page)
  await button('Sign in with Acme').click()
  await button('Deny').click()
  await page.getByText('Acme did not let you in.').waitFor()
  await isCleanEverywhere()
  await button('Sign in with Acme').click()
  await atProvider(page, 'eve')
  await page.getByText('Acme has not verified your e-mail address.').waitFor()
  const names = (await cookies(page)).map(({ name }) => name)
  assert(!names.includes('prepaint-session'), names.join())
})

it('an answer with another state or nonce signs nobody in', async () => {
  for (const [parameter, words] of [
    ['state', 'The sign-in took longer than 10 minutes, or began in another window.'],
    ['nonce', 'Acme could not sign you in.'],
  ] as const) {
    const page = await browser.newPage()
    await openSignIn(page)
    const url = await sso(page)
    const value = url.searchParams.get(parameter)!
    url.searchParams.set(parameter, `${value.slice(0, -2)}AA`)
    await page.goto(url.href)
    await atProvider(page, 'ann')
    await page.getByText(words).waitFor()
    assert.equal((await ask(page, 'GET', '/api/session')).status, 401)
  }
})

it('a link of another’s sign-in signs nobody in', async () => {
  const attacker = await browser.newPage()
  await openSignIn(attacker)
  const started = await sso(attacker)
  let comeBack = ''
  attacker.on('request', (request) => {
    if (request.url().includes('/sign-in/sso/callback?')) comeBack = request.url()
  })
  // Without its cookie, the attacker's browser does not use it up.
  const kept = await attacker.context().cookies(base)
  await attacker.context().clearCookies({ name: 'prepaint-sso' })
  await attacker.goto(started.href)
  await atProvider(attacker, 'ann')
  await until('the provider has sent the attacker back', () => comeBack !== '')
  await elements(attacker).heading('Sign in').waitFor()
  const victim = await browser.newPage()
  await victim.goto(comeBack)
  await victim.getByText('The sign-in took longer than 10 minutes, or began in another window.').waitFor()
  assert.equal((await ask(victim, 'GET', '/api/session')).status, 401)
  // The attacker's own browser may use it, once.
  await attacker.context().addCookies(kept)
  await attacker.goto(comeBack)
  await elements(attacker).heading('You are in no account').waitFor()
  await attacker.goto(comeBack)
  await attacker.getByText('You are still signed in.').waitFor()
})

it('an owner enters the account of the address, and comes back to the screen that was asked for', async () => {
  const created = await runJson(
    ['account', 'create', '--email', 'ann@example.com', '--plan', 'agency_plus', '--name', 'Garden tools'],
    { ...node.settings },
  )
  assert.equal(created.code, 0, JSON.stringify(created.json))
  const page = await browser.newPage()
  await page.goto(`${base}/account/security`)
  await elements(page).button('Sign in with Acme').click()
  await atProvider(page, 'ann')
  await elements(page).heading('Security').waitFor()
  await page.getByText('Single sign-on', { exact: true }).first().waitFor()
  await elements(page).isCleanEverywhere()
  await page.close()
})

it('what is dangerous asks at the provider again, in a window of its own, and goes on', async () => {
  const page = await signedIn('ann')
  const { button, dialog, field, heading, isCleanEverywhere } = elements(page)
  await heading('Sites').waitFor()
  await page.goto(`${base}/account`)
  await field('Sign in again after hours').fill('721')
  await button('Save security settings').click()
  await page.getByText('Enter a whole number from 1 to 720, or leave it empty').waitFor()
  await field('Sign in again after hours').fill('8')
  await page.getByRole('checkbox', { name: 'Members need a second factor' }).check()
  await until('the sign-in is old', async () => {
    const { status } = await ask(page, 'PUT', '/api/account/policy', {})
    return status === 403
  })
  await button('Save security settings').click()
  const confirm = dialog('Confirm that it is you')
  await confirm.waitFor()
  await isCleanEverywhere()
  const [another] = await Promise.all([
    page.waitForEvent('popup'),
    button('Sign in with Acme', confirm).click(),
  ])
  await atProvider(another, 'boss')
  await another.getByText('another person was signed in').waitFor()
  await elements(another).isCleanEverywhere()
  await another.close()
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    button('Sign in with Acme', confirm).click(),
  ])
  const closed = popup.waitForEvent('close')
  await atProvider(popup, 'ann')
  await closed
  await page.getByText('The security settings were saved').waitFor()
  const { body } = await ask(page, 'GET', '/api/account')
  const { policy } = body['account'] as { policy: object }
  assert.deepEqual(policy, { second_factor: 'required', session_hours: 8 })
  const audit = await ask(page, 'GET', '/api/audit?action=account.policy_changed')
  const [entry] = audit.body['entries'] as { way: string }[]
  assert.equal(entry!.way, 'sso')
})

it('as the only way, it closes passwords and passkeys, in the dashboard as well', async () => {
  const page = await signedIn('ann')
  await elements(page).heading('Sites').waitFor()
  // Windows that are open look for the node meanwhile.
  for (const each of page
    .context()
    .browser()!
    .contexts()
    .flatMap((context) => context.pages())) {
    if (each !== page) await each.context().close()
  }
  await page.goto('about:blank')
  assert.equal(await node.stop(), 0)
  node = await startNodeProcess(dataDir, { ...SETTINGS, PREPAINT_OIDC_ONLY: '1' })
  await page.goto(`${base}/account/security`)
  await page.getByText('This installation has no passwords and passkeys.').waitFor()
  for (const name of ['Password', 'Passkeys', 'Second factor']) {
    assert.equal(await page.getByRole('heading', { name, exact: true }).count(), 0, name)
  }
  await elements(page).isCleanEverywhere()

  const other = await browser.newPage()
  await openSignIn(other)
  const { button, field, isCleanEverywhere } = elements(other)
  await button('Sign in with Acme').waitFor()
  assert.equal(await field('E-mail').count(), 0)
  assert.equal(await other.getByText('Forgot your password?').count(), 0)
  await isCleanEverywhere()
  const password = { email: 'ann@example.com', password: 'correct horse' }
  assert.equal((await ask(other, 'POST', '/api/session', password)).status, 404)

  const { json } = await runJson(['person', 'reset-link', '--person', 'ann@example.com'], node.settings)
  await other.goto(json['url'] as string)
  await elements(other).heading('Set a new password').waitFor()
  await field('New password').fill('correct horse battery')
  await field('Repeat the password').fill('correct horse battery')
  await button('Set the password').click()
  await elements(other).heading('A second factor is required').waitFor()
})

it('an invitation is accepted by signing in at the provider', async () => {
  const names = ['--email', 'ann@example.com', '--member', 'bob@example.com', '--role', 'viewer']
  const { json } = await runJson(['member', 'invite', ...names], node.settings)
  const page = await browser.newPage()
  const { button, heading, isCleanEverywhere } = elements(page)
  await page.goto(json['url'] as string)
  await heading('Join Garden tools').waitFor()
  assert.equal(await page.getByLabel('Password').count(), 0)
  await isCleanEverywhere()
  await button('Sign in with Acme').click()
  await atProvider(page, 'bob')
  await heading('Join Garden tools').waitFor()
  await button('Join the account').click()
  await heading('Sites').waitFor()
})

it('nothing but refusals was written into the console', () => {
  assert.deepEqual(
    browser.complaints.filter((line) => !/status of 40[0-4]/.test(line)),
    [],
  )
})
