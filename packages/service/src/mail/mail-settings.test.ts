import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseMailFrom, parseSmtpUrl } from './mail-settings.ts'

it('an SMTP URL: encrypted, whatever it says, but to this machine', () => {
  const server = { secure: false, requireTls: true, auth: null }
  const host = 'mail.example.com'
  assert.deepEqual(parseSmtpUrl(`smtp://${host}`), { ...server, host, port: 587 })
  const auth = { user: 'us@er', pass: 'p:ss' }
  const secure = { ...server, host, port: 465, secure: true, auth }
  assert.deepEqual(parseSmtpUrl(`smtps://us%40er:p%3Ass@${host}`), secure)
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    assert.equal(parseSmtpUrl(`smtp://${host}:25`)?.requireTls, false, host)
  }
  assert.equal(parseSmtpUrl('smtp://127.example.com')?.requireTls, true)
  const wrong =
    'mail.example.com http://a.example smtp:// smtp://a.example/x smtp://a.example?x smtp://user@a.example smtp://%zz:x@a.example'
  for (const url of wrong.split(' ')) assert.equal(parseSmtpUrl(url), null, url)
})

it('a sender: an address, with or without a name, on one line', () => {
  assert.deepEqual(parseMailFrom('a@example.com'), { name: 'Prepaint', address: 'a@example.com' })
  const named = { name: 'Our Agency', address: 'a@example.com' }
  assert.deepEqual(parseMailFrom('Our Agency <a@example.com>'), named)
  assert.deepEqual(parseMailFrom('<a@example.com>'), { name: 'Prepaint', address: 'a@example.com' })
  const wrong = [
    '',
    'A <a@b.example',
    'a@b.example, c@d.example',
    'A\r\nB <a@b.example>',
    '"A" <a@b.example>',
  ]
  for (const each of wrong) assert.equal(parseMailFrom(each), null, each)
})
