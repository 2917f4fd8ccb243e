/** A name whose forgotten DNS record leads to a whole node, and who gets what until its new account has proven it. */
import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import { runJson } from './support/command-line.ts'
import { until } from './support/condition.ts'
import { clearDataDir, makeDataDir } from './support/data-dir.ts'
import { GOOGLEBOT, PERSON, request } from './support/edge.ts'
import { serve } from './support/loopback.ts'
import { startNameServer, type Zone } from './support/name-server.ts'
import { startNodeProcess } from './support/node-process.ts'
import { startTestSmtp } from './support/smtp-server.ts'
import { callApi, openAccount, registerDomain } from './support/tenant.ts'

const NAME = 'shop.example.com'
const DNS_NAME = `TXT _prepaint.${NAME}`
const zone: Zone = { [NAME]: ['127.0.0.1'] }
const dns = await startNameServer({ after }, zone)
const mail = await startTestSmtp()
const [red, blue] = await Promise.all(
  ['red', 'blue'].map((of) => serve((_req, res) => res.end(`the site of ${of}`))),
)
const dataDir = makeDataDir()
const settings = {
  PREPAINT_ROLES: 'edge,api',
  PREPAINT_LIVE_WAIT_MS: '1000',
  PREPAINT_DNS_SERVERS: dns.server,
  // The edge has any port: names lead here by their address.
  PREPAINT_EDGE_TARGET: '127.0.0.1',
  // A week is a minute, and a day nine seconds.
  PREPAINT_NOTIFY_SPEED: '10000',
  PREPAINT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
  PREPAINT_MAIL_FROM: 'prepaint@example.com',
  PREPAINT_PUBLIC_URL: 'http://127.0.0.1:1',
}
let node = await startNodeProcess(dataDir, settings)
after(async () => {
  await node.stop()
  mail.close()
  await Promise.all([red!.close(), blue!.close()])
  await clearDataDir(dataDir)
})
const one = await openAccount(node, { email: 'red@example.com', plan: 'enterprise' })
const two = await openAccount(node, { email: 'blue@example.com', plan: 'enterprise' })

async function proofFor(key: string, method: 'GET' | 'POST' = 'GET', name = NAME): Promise<DomainProof> {
  const path = `/api/domains/${name}/proof${method === 'POST' ? '/check' : ''}`
  const { status, body } = await callApi(node, key, { method, path })
  assert.equal(status, 200, JSON.stringify(body))
  return body['proof'] as DomainProof
}

async function seen(host = NAME, agent = PERSON): Promise<string> {
  const port = Number(new URL(node.edge!).port)
  const { status, body } = await request(port, '/', { host, agent })
  return status === 200 ? body.toString() : String(status)
}

it('the account that forgot the record is served; who takes the name over is not, and its front is refused', async () => {
  await registerDomain(node, one.key, { customDomain: NAME, originUrl: red!.url })
  assert.equal(await seen(), 'the site of red')
  const gone = await callApi(node, one.key, { method: 'DELETE', path: `/api/domains/${NAME}` })
  assert.equal(gone.status, 200)
  await registerDomain(node, two.key, { customDomain: NAME, originUrl: blue!.url })
  const { state, served, error } = await proofFor(two.key)
  assert.deepEqual([state, served], ['asked', false])
  assert.match(error!, /^The name leads to this installation/)
  assert.equal(await seen(), '404')
  const refused = await fetch(`${node.api}/https://${NAME}/`, { headers: { 'x-prerender-token': two.key } })
  const reason = refused.headers.get('x-prerender-reject-reason')
  assert.deepEqual([refused.status, reason], [503, 'domain-not-proven'])
})

it('the account that forgot the record gets the name back from the operator, and is served at once', async () => {
  const move = ['domain', 'move', '--domain', NAME, '--to-email', 'red@example.com', '--origin', red!.url]
  const moved = await runJson(move, node.settings)
  assert.equal(moved.code, 0, JSON.stringify(moved.json))
  await until('it is served', async () => (await seen()) === 'the site of red')
  assert.equal((await proofFor(one.key)).state, 'not-asked')
})

it('an account whose TXT record is there is served within a check, and told once when it is gone', async () => {
  await callApi(node, one.key, { method: 'DELETE', path: `/api/domains/${NAME}` })
  await registerDomain(node, two.key, { customDomain: NAME, originUrl: blue!.url })
  assert.equal(await seen(), '404')
  const { records } = await proofFor(two.key)
  zone[DNS_NAME] = [records.dns.value]
  assert.equal((await proofFor(two.key, 'POST')).state, 'proven')
  assert.equal(await seen(), 'the site of blue')
  delete zone[DNS_NAME]
  await until('the proof is lost', async () => (await proofFor(two.key)).state === 'lost', 240_000)
  await until('the owner is told', () => mail.mails.some(({ to }) => to.includes('blue@example.com')))
  const letters = mail.mails.filter(({ data }) => data.includes('is lost'))
  assert.equal(letters.length, 1)
  assert.equal(await seen(), 'the site of blue', 'it is served on')
})

it('from the start that requires proofs on, live domains are proven, others have time, and new ones are not served', async () => {
  const name = (label: string) => `${label}.example.com`
  for (const label of ['live', 'old']) {
    await registerDomain(node, one.key, { customDomain: name(label), originUrl: red!.url })
  }
  assert.equal(await seen(name('live'), GOOGLEBOT), 'the site of red')
  await until('the crawler is known', async () => {
    const path = `/api/domains/${name('live')}/integration`
    return (await callApi(node, one.key, { method: 'GET', path })).body['state'] === 'proxy'
  })
  assert.equal(await node.stop(), 0)
  node = await startNodeProcess(dataDir, { ...settings, PREPAINT_DOMAIN_PROOF: 'required' })
  const live = await proofFor(one.key, 'GET', name('live'))
  assert.deepEqual([live.state, live.method, live.deadline], ['proven', 'traffic', null])
  const old = await proofFor(one.key, 'GET', name('old'))
  assert.deepEqual([old.state, old.served], ['asked', true])
  assert(Date.parse(old.deadline!) > Date.now(), 'there is time left')
  assert.equal(await seen(name('old')), 'the site of red')
  await registerDomain(node, one.key, { customDomain: name('new'), originUrl: red!.url })
  assert.equal(await seen(name('new')), '404')
  await until('the owner is told', () =>
    mail.mails.some(({ data }) => data.includes('Prove that your domains')),
  )
})
