import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import { createTestCa } from '../../test/support/certificate-authority.ts'
import { startTestSmtp, type TestSmtpOptions } from '../../test/support/smtp-server.ts'
import { silentLog } from '../log.ts'
import { createMailer, type Mail, write } from './mailer.ts'

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

async function world(options: TestSmtpOptions = {}, settings: { requireTls?: boolean; host?: string } = {}) {
  const smtp = await startTestSmtp(options)
  closing.push(smtp.close)
  const mailer = createMailer(
    {
      host: settings.host ?? 'localhost',
      port: smtp.port,
      secure: false,
      requireTls: settings.requireTls ?? true,
      auth: { user: 'us', pass: 'secret' },
      from: { name: 'Our Agency', address: 'prepaint@example.com' },
    },
    silentLog(),
    { connectMs: 2_000, silentMs: 2_000, wholeMs: 4_000 },
    ca.certificate,
  )
  return { smtp, mailer }
}

it('a letter arrives, encrypted, as text and as HTML, with its link', async () => {
  const { smtp, mailer } = await world({ tls: { key: good.key, cert: good.chain } })
  assert.equal(await mailer.send(LETTER), true)
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
  const plain = await world()
  assert.equal(await plain.mailer.send(LETTER), false)
  const stranger = createTestCa('stranger', Date.now()).leaf({ names: ['localhost'] })
  const forged = await world({ tls: { key: stranger.key, cert: stranger.chain } })
  assert.equal(await forged.mailer.send(LETTER), false)
  const other = ca.leaf({ names: ['mail.example.com'] })
  const misnamed = await world({ tls: { key: other.key, cert: other.chain } })
  assert.equal(await misnamed.mailer.send(LETTER), false)
  for (const { smtp } of [plain, forged, misnamed]) assert.deepEqual(smtp.mails, [])
  const near = await world({}, { requireTls: false })
  assert.equal(await near.mailer.send(LETTER), true)
})

it('no line of a head comes from outside', async () => {
  const { smtp, mailer } = await world({}, { requireTls: false })
  const send = (mail: Partial<Mail>) => mailer.send({ ...LETTER, ...mail })
  for (const to of [
    'a@b.example\r\nBcc: x@y.example',
    'a@b.example,x@y.example',
    '<a@b.example>',
    'a@b.example\0',
  ]) {
    assert.equal(await send({ to }), false, JSON.stringify(to))
  }
  assert.equal(await send({ subject: 'x\nBcc: x@y.example' }), false)
  assert.deepEqual(smtp.mails, [])
  assert.equal(await send({}), true)
  assert.equal(smtp.mails.length, 1)
})

it('a server that refuses, says nothing, or is not there: the mail was not sent, and nobody waits for long', async () => {
  const refusing = await world({ rcpt: '550 no such person' }, { requireTls: false })
  assert.equal(await refusing.mailer.send(LETTER), false)
  const silent = await startTestSmtp({ silent: true })
  closing.push(silent.close)
  const settings = {
    host: '127.0.0.1',
    secure: false,
    requireTls: false,
    auth: null,
    from: { name: '', address: 'a@example.com' },
  }
  const times = { connectMs: 100, silentMs: 100, wholeMs: 200 }
  const waiting = createMailer({ ...settings, port: silent.port }, silentLog(), times)
  assert.equal(await waiting.send(LETTER), false)
  silent.close()
  assert.equal(await waiting.send(LETTER), false)
  await waiting.close()
})

it('twenty at a time, and not one more', async () => {
  const silent = await startTestSmtp({ silent: true })
  closing.push(silent.close)
  const lines: unknown[] = []
  const log = silentLog()
  log.warn = ((...line: unknown[]) => void lines.push(line.at(-1))) as typeof log.warn
  const mailer = createMailer(
    {
      host: '127.0.0.1',
      port: silent.port,
      secure: false,
      requireTls: false,
      auth: null,
      from: { name: '', address: 'a@example.com' },
    },
    log,
    { connectMs: 2_000, silentMs: 2_000, wholeMs: 100 },
  )
  const many = Array.from({ length: 21 }, () => mailer.send(LETTER))
  assert.equal(await many[20], false)
  assert.deepEqual(lines, ['an e-mail was not sent: too many are being sent'])
  await Promise.all(many)
  silent.close()
  await mailer.close()
})
