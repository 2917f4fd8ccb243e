import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createTestCa } from '../../../../test/support/certificate-authority.ts'
import { startTestSmtp, type TestSmtpOptions } from '../../../../test/support/smtp-server.ts'
import { type Mail, Mailer, write } from './mailer.ts'

const ca = createTestCa('mail', Date.now())
const good = ca.leaf({ names: ['localhost'] })
const closing: (() => unknown)[] = []
after(() => closing.forEach((close) => void close()))

const LETTER = write({
  kind: 'reset',
  to: 'owner@example.com',
  url: 'https://prepaint.example/welcome#pp_in_x&y',
  endsAt: '2026-11-21T19:30:00.000Z',
})

/** A server and a mailer that knows it; without `tls`, one that need not encrypt. */
async function world(options: TestSmtpOptions = {}, requireTls = options.tls !== undefined, ms = 4_000) {
  const smtp = await startTestSmtp(options)
  closing.push(smtp.close)
  const mailer = await Mailer.start(
    {
      host: 'localhost',
      port: smtp.port,
      secure: false,
      requireTls,
      auth: { user: 'us', pass: 'secret' },
      from: { name: 'Our Agency', address: 'prepaint@example.com' },
    },
    silentLog(),
    { connectMs: Math.min(ms, 2_000), silentMs: Math.min(ms, 2_000), wholeMs: ms },
    ca.certificate,
  )
  return { smtp, mailer }
}

it('a letter arrives, encrypted, as text and as HTML, with its link', async () => {
  const { smtp, mailer } = await world({ tls: { key: good.key, cert: good.chain } })
  assert.equal(await mailer.send(LETTER), 'sent')
  await mailer.close()
  const [mail] = smtp.mails
  assert.deepEqual(
    [mail!.from, mail!.to, mail!.isEncrypted, mail!.user],
    ['prepaint@example.com', ['owner@example.com'], true, 'us'],
  )
  const text = mail!.data.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  assert.match(text, /^From: Our Agency <prepaint@example\.com>$/m)
  assert.match(text, /^Subject: Reset your Prepaint password$/m)
  assert.match(text, /^Auto-Submitted: auto-generated$/m)
  assert.match(text, /multipart\/alternative/)
  assert(text.includes('https://prepaint.example/welcome#pp_in_x&y'))
  assert(text.includes('href="https://prepaint.example/welcome#pp_in_x&#38;y"'))
  assert.doesNotMatch(LETTER.html, /<script|<img|<link|src=/)
})

it('nothing goes to a server that does not encrypt, or whose certificate is not good', async () => {
  const plain = await world({}, true)
  assert.equal(await plain.mailer.send(LETTER), 'failed')
  const stranger = createTestCa('stranger', Date.now()).leaf({ names: ['localhost'] })
  const forged = await world({ tls: { key: stranger.key, cert: stranger.chain } })
  assert.equal(await forged.mailer.send(LETTER), 'failed')
  const other = ca.leaf({ names: ['mail.example.com'] })
  const misnamed = await world({ tls: { key: other.key, cert: other.chain } })
  assert.equal(await misnamed.mailer.send(LETTER), 'failed')
  for (const { smtp } of [plain, forged, misnamed]) assert.deepEqual(smtp.mails, [])
  const near = await world()
  assert.equal(await near.mailer.send(LETTER), 'sent')
})

it('no line of a head comes from outside', async () => {
  const { smtp, mailer } = await world()
  const send = (mail: Partial<Mail>) => mailer.send({ ...LETTER, ...mail })
  const wrong = [
    'a@b.example\r\nBcc: x@y.example',
    'a@b.example,x@y.example',
    '<a@b.example>',
    'a@b.example\0',
  ]
  for (const to of wrong) assert.equal(await send({ to }), 'refused', JSON.stringify(to))
  assert.equal(await send({ subject: 'x\nBcc: x@y.example' }), 'refused')
  assert.deepEqual(smtp.mails, [])
  assert.equal(await send({}), 'sent')
  assert.equal(smtp.mails.length, 1)
})

it('a server that refuses, says nothing, or is not there: the mail was not sent, and nobody waits for long', async () => {
  const refusing = await world({ rcpt: '550 no such person' })
  assert.equal(await refusing.mailer.send(LETTER), 'refused')
  const { smtp, mailer } = await world({ silent: true }, false, 100)
  assert.equal(await mailer.send(LETTER), 'failed')
  smtp.close()
  assert.equal(await mailer.send(LETTER), 'failed')
  await mailer.close()
})

it('as many at a time as a node sends notifications, and not one more', async () => {
  const { smtp, mailer } = await world({ silent: true }, false, 100)
  const many = Array.from({ length: 33 }, () => mailer.send(LETTER))
  // The last one fails at once, the others when their time is over.
  assert.equal(await Promise.race(many.map(async (sending, n) => (await sending) && n)), 32)
  await Promise.all(many)
  smtp.close()
  await mailer.close()
})
