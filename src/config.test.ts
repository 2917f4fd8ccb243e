import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'

import { loadConfig, readDataDir, settingDefaults } from './config.ts'
import { SettingsReader } from './settings.ts'

describe('PREPAINT_CONTACT', () => {
  it('is an e-mail address or a URL; nobody by default', () => {
    const read = (contact: string) => loadConfig({ PREPAINT_CONTACT: contact }).contact
    assert.equal(loadConfig({}).contact, null)
    assert.equal(read(''), null)
    assert.equal(read('render@example.com'), 'render@example.com')
    assert.equal(read('https://example.com/contact?about=bots'), 'https://example.com/contact?about=bots')
  })

  it('anything else stops the start', () => {
    for (const wrong of [
      'somebody',
      'javascript:alert(1)',
      'a b@example.com',
      '"><b>@example.com',
      '@',
      'x@',
    ]) {
      assert.throws(() => loadConfig({ PREPAINT_CONTACT: wrong }), /PREPAINT_CONTACT must be/, wrong)
    }
  })
})

describe('the data directory', () => {
  it('is in the working directory for a checkout, and where the system keeps data for an installed package', () => {
    const read = (env: Record<string, string>, installed: boolean, uid: number) =>
      readDataDir(new SettingsReader(env), installed, uid)
    assert.equal(loadConfig({}).dataDir, path.resolve('.prepaint'))
    assert.equal(read({ XDG_DATA_HOME: '/x' }, false, 1000), path.resolve('.prepaint'))
    assert.equal(read({ XDG_DATA_HOME: '/x' }, true, 0), '/var/lib/prepaint')
    assert.equal(read({ XDG_DATA_HOME: '/x' }, true, 1000), '/x/prepaint')
    const home = path.join(homedir(), '.local/share/prepaint')
    assert.equal(read({}, true, 1000), home)
    assert.equal(read({ XDG_DATA_HOME: 'relative' }, true, 1000), home)
    for (const installed of [true, false]) {
      assert.equal(read({ PREPAINT_DATA_DIR: 'mine' }, installed, 0), path.resolve('mine'))
    }
  })
})

describe('PREPAINT_VERIFY_CRAWLERS and PREPAINT_CRAWLER_RANGES_DIR', () => {
  it('are off by default', () => {
    assert.deepEqual(loadConfig({}).crawlers, { verify: false, rangesDir: null })
    assert.equal(loadConfig({ PREPAINT_VERIFY_CRAWLERS: '1' }).crawlers.verify, true)
    assert.equal(
      loadConfig({ PREPAINT_CRAWLER_RANGES_DIR: 'ranges' }).crawlers.rangesDir,
      path.resolve('ranges'),
    )
  })

  it('anything but 0 and 1 stops the start', () => {
    assert.throws(
      () => loadConfig({ PREPAINT_VERIFY_CRAWLERS: 'yes' }),
      /PREPAINT_VERIFY_CRAWLERS must be one of 0, 1/,
    )
  })
})

describe('certificates', () => {
  const key = Buffer.alloc(32, 1).toString('base64')
  const other = Buffer.alloc(32, 2).toString('base64')

  it('no CA is named and no key given by default; what is given is taken', () => {
    assert.deepEqual(loadConfig({}).acme, {
      directory: null,
      email: null,
      selfCheck: true,
      ordersPerHour: 100,
    })
    assert.equal(loadConfig({}).secretKeys, null)
    assert.equal(loadConfig({ PREPAINT_SECRET_KEY: `${key},${other}` }).secretKeys?.length, 2)
    const acme = {
      PREPAINT_ACME_DIRECTORY: 'https://ca.example/dir',
      PREPAINT_ACME_EMAIL: 'me@example.com',
      PREPAINT_ACME_SELF_CHECK: '0',
      PREPAINT_ACME_ORDERS_PER_HOUR: '1',
    }
    assert.deepEqual(loadConfig(acme).acme, {
      directory: 'https://ca.example/dir',
      email: 'me@example.com',
      selfCheck: false,
      ordersPerHour: 1,
    })
  })

  it('what is malformed stops the start, and a secret is not repeated', () => {
    for (const [name, value] of [
      ['PREPAINT_ACME_DIRECTORY', 'http://ca.example/dir'],
      ['PREPAINT_ACME_EMAIL', 'nobody'],
      ['PREPAINT_ACME_SELF_CHECK', 'no'],
      ['PREPAINT_ACME_ORDERS_PER_HOUR', '0'],
      ['PREPAINT_ACME_ORDERS_PER_HOUR', '100001'],
      ['PREPAINT_SECRET_KEY', key.slice(1)],
      ['PREPAINT_SECRET_KEY', `${key},short`],
    ] as const) {
      assert.throws(() => loadConfig({ [name]: value }), new RegExp(name), `${name}=${value}`)
    }
    assert.throws(
      () => loadConfig({ PREPAINT_SECRET_KEY: key.slice(1) }),
      (error: Error) => !error.message.includes(key.slice(5, 20)),
    )
  })

  it('the port for TLS is 8443, a free one beside a free one, and known to be asked for or not', () => {
    const of = (env: Record<string, string>) => {
      const { tlsPort, tlsPortGiven } = loadConfig(env).edge
      return [tlsPort, tlsPortGiven]
    }
    assert.deepEqual(of({}), [8443, false])
    assert.deepEqual(of({ PREPAINT_EDGE_PORT: '0' }), [0, false])
    assert.deepEqual(of({ PREPAINT_EDGE_PORT: '0', PREPAINT_EDGE_TLS_PORT: '443' }), [443, true])
  })
})

describe('PREPAINT_PRELOAD', () => {
  it('is on unless it is 0', () => {
    const of = (value: string) => loadConfig({ PREPAINT_PRELOAD: value }).preload
    assert.deepEqual([loadConfig({}).preload, of('0'), of('1')], [true, false, true])
    assert.throws(() => of('no'), /PREPAINT_PRELOAD must be one of 0, 1, got "no"/)
  })
})

describe('PREPAINT_EDGE_SHARE_PORT', () => {
  it('is off unless it is 1', () => {
    const of = (value: string) => loadConfig({ PREPAINT_EDGE_SHARE_PORT: value }).edge.sharePort
    assert.deepEqual([loadConfig({}).edge.sharePort, of('0'), of('1')], [false, false, true])
    assert.throws(() => of('yes'), /PREPAINT_EDGE_SHARE_PORT must be one of 0, 1, got "yes"/)
  })
})

describe('PREPAINT_METRICS_TOKEN and PREPAINT_ACCESS_LOG', () => {
  it('are not there and `renders` by default', () => {
    assert.deepEqual([loadConfig({}).metricsToken, loadConfig({}).accessLog], [null, 'renders'])
    for (const accessLog of ['renders', 'all', 'none'] as const) {
      assert.equal(loadConfig({ PREPAINT_ACCESS_LOG: accessLog }).accessLog, accessLog)
    }
    assert.throws(() => loadConfig({ PREPAINT_ACCESS_LOG: '1' }), /PREPAINT_ACCESS_LOG must be one of/)
  })

  it('a token has 16 to 200 characters, and is not repeated when it is wrong', () => {
    for (const good of ['a'.repeat(16), 'a'.repeat(200), 'p+q/r=.-_~0123456']) {
      assert.equal(loadConfig({ PREPAINT_METRICS_TOKEN: good }).metricsToken, good)
    }
    for (const bad of [
      'a'.repeat(15),
      'a'.repeat(201),
      'has a blank in it',
      'one,two,three,four',
      'größe-größe-größe',
    ]) {
      assert.throws(
        () => loadConfig({ PREPAINT_METRICS_TOKEN: bad }),
        (error: Error) =>
          /PREPAINT_METRICS_TOKEN must be/.test(error.message) && !error.message.includes(bad),
      )
    }
  })
})

describe('PREPAINT_SMTP_URL, PREPAINT_MAIL_FROM and PREPAINT_EDGE_TARGET', () => {
  const url = { PREPAINT_SMTP_URL: 'smtp://us:pa55word@mail.example.com' }
  const from = { PREPAINT_MAIL_FROM: 'Our Agency <a@example.com>' }
  const publicUrl = { PREPAINT_PUBLIC_URL: 'https://prepaint.example' }

  it('no mail is sent and no target shown by default; what is given is taken', () => {
    assert.deepEqual([loadConfig({}).mail, loadConfig({}).edgeTarget], [null, null])
    const { mail, edgeTarget, egressAddresses } = loadConfig({
      ...url,
      ...from,
      ...publicUrl,
      PREPAINT_EDGE_TARGET: 'edge.example.net',
      PREPAINT_EGRESS_ADDRESSES: '203.0.113.5, 2001:db8::/48',
    })
    assert.deepEqual(
      [mail?.host, mail?.from.address, mail?.auth?.pass],
      ['mail.example.com', 'a@example.com', 'pa55word'],
    )
    assert.deepEqual(egressAddresses, ['203.0.113.5', '2001:db8::/48'])
    assert.deepEqual(edgeTarget, { host: 'edge.example.net', addresses: [] })
  })

  it('one without the others, or a malformed one, stops the start; a password is not repeated', () => {
    for (const [env, problem] of [
      [{ ...url, ...publicUrl }, /needs PREPAINT_MAIL_FROM/],
      [{ ...url, ...from }, /needs PREPAINT_PUBLIC_URL/],
      [from, /PREPAINT_MAIL_FROM needs PREPAINT_SMTP_URL/],
      [{ ...from, ...publicUrl, PREPAINT_SMTP_URL: 'http://us:pa55word@x' }, /must be smtp:/],
      [{ PREPAINT_EDGE_TARGET: 'https://x' }, /PREPAINT_EDGE_TARGET takes/],
      ...['edge.example.net', '203.0.113.5/33', '203.0.113.5,', '203.0.113.5/8/8'].map(
        (raw): [Record<string, string>, RegExp] => [
          { PREPAINT_EGRESS_ADDRESSES: raw },
          /PREPAINT_EGRESS_ADDRESSES takes/,
        ],
      ),
    ] as const) {
      assert.throws(
        () => loadConfig(env),
        (error: Error) => problem.test(error.message) && !error.message.includes('pa55word'),
      )
    }
  })
})

describe('docs/configuration.md', () => {
  it('has every setting once, with its default', () => {
    const text = readFileSync(path.resolve(import.meta.dirname, '../docs/configuration.md'), 'utf8')
    const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (.+?) \|/gm)].map(([, name, value]) => [name, value])
    const defaults = [...settingDefaults()].map(([name, value]) => {
      if (name === 'PREPAINT_RENDER_SLOTS') return [name, 'automatic']
      return [name, value === null ? 'not set' : `\`${value}\``]
    })
    assert.deepEqual(rows.toSorted(), defaults.toSorted())
  })
})
