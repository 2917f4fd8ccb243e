import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { withTables } from '../../tools/configuration-doc.ts'
import {
  BASE_BYTES,
  type Config,
  ConfigError,
  dataDirOf,
  defaultSlots,
  loadConfig,
  SLOT_BYTES,
  shareOfProcess,
  thisMachine,
} from './config.ts'
import { edgeTarget } from './schemas.ts'
import { SETTINGS, type Setting } from './table.ts'

type Env = Record<string, string>

const GIB = 2 ** 30
const KEY = Buffer.alloc(32, 1).toString('base64')
const TOKEN = '/=.-_~0123456789'
const NONE = [null, null, null, null]
const SMTP = { PREPAINT_SMTP_URL: 'smtp://us:pa55word@mail.example.com' }
const FROM = { PREPAINT_MAIL_FROM: 'Our Agency <a@example.com>' }
const PUBLIC = { PREPAINT_PUBLIC_URL: 'https://prepaint.example' }
const OIDC = {
  PREPAINT_OIDC_ISSUER: 'https://id.example/realms/main',
  PREPAINT_OIDC_CLIENT_ID: 'prepaint',
  PREPAINT_OIDC_CLIENT_SECRET: 'pa55word',
}
const ACME = {
  PREPAINT_ACME_DIRECTORY: 'https://ca.example/dir',
  PREPAINT_ACME_EMAIL: 'me@example.com',
  PREPAINT_ACME_SELF_CHECK: '0',
  PREPAINT_ACME_ORDERS_PER_HOUR: '1',
}

describe('the share of one process of the edge', () => {
  it('is all if there is one process', () => {
    const config = loadConfig({})
    assert.deepEqual(shareOfProcess(config), config)
  })

  it('is a third of the memory and of the connections of all clients if there are three', () => {
    const { edge, clients } = shareOfProcess(
      loadConfig({
        PREPAINT_EDGE_PROCESSES: '3',
        PREPAINT_EDGE_MEMORY_BYTES: '3000',
        PREPAINT_CONNECTIONS: '301',
      }),
    )
    assert.equal(edge.memoryBytes, 1_000)
    assert.equal(clients.connectionsInTotal, 101)
    assert.equal(clients.connections, loadConfig({}).clients.connections)
  })
})

describe('settings give', () => {
  const cases: [env: Env, read: (config: Config) => unknown, value: unknown][] = [
    [{}, ({ contact, secretKeys, mail, edgeTarget }) => [contact, secretKeys, mail, edgeTarget], NONE],
    [{}, ({ edge }) => [edge.tlsPort, edge.tlsPortGiven, edge.sharePort], [8443, false, false]],
    [{ PREPAINT_EDGE_PORT: '0' }, ({ edge }) => [edge.tlsPort, edge.tlsPortGiven], [0, false]],
    [{ PREPAINT_EDGE_TLS_PORT: '443' }, ({ edge }) => [edge.tlsPort, edge.tlsPortGiven], [443, true]],
    [{ PREPAINT_CONTACT: 'https://x.example/?a=b' }, ({ contact }) => contact, 'https://x.example/?a=b'],
    [{ PREPAINT_VERIFY_CRAWLERS: '1' }, ({ crawlers }) => crawlers.verify, true],
    [{ PREPAINT_CRAWLER_RANGES_DIR: 'r' }, ({ crawlers }) => crawlers.rangesDir, path.resolve('r')],
    [{ PREPAINT_SECRET_KEY: `${KEY},${KEY}` }, ({ secretKeys }) => secretKeys?.length, 2],
    [
      ACME,
      ({ acme }) => acme,
      { directory: 'https://ca.example/dir', email: 'me@example.com', selfCheck: false, ordersPerHour: 1 },
    ],
    [{ PREPAINT_PRELOAD: '0' }, ({ preload }) => preload, false],
    [{ PREPAINT_EDGE_SHARE_PORT: '1' }, ({ edge }) => edge.sharePort, true],
    [{}, ({ edge }) => edge.processes, 1],
    [{ PREPAINT_EDGE_PROCESSES: '64' }, ({ edge }) => edge.processes, 64],
    [{ PREPAINT_EDGE_PROCESSES: 'auto', PREPAINT_RENDER_SLOTS: '256' }, ({ edge }) => edge.processes, 1],
    [
      { PREPAINT_EDGE_PROCESSES: 'auto', PREPAINT_ROLES: 'edge' },
      ({ edge }) => edge.processes,
      thisMachine().cores,
    ],
    [{ PREPAINT_ACCESS_LOG: 'none' }, ({ accessLog }) => accessLog, 'none'],
    [{ PREPAINT_METRICS_TOKEN: TOKEN }, ({ metricsToken }) => metricsToken, TOKEN],
    [
      { ...SMTP, ...FROM, ...PUBLIC },
      ({ mail }) => [mail?.host, mail?.from.address, mail?.auth?.pass],
      ['mail.example.com', 'a@example.com', 'pa55word'],
    ],
    [{ PREPAINT_OIDC_ONLY: '0' }, ({ sso }) => sso, null],
    [
      { ...OIDC, ...PUBLIC },
      ({ sso }) => sso,
      {
        issuer: 'https://id.example/realms/main',
        clientId: 'prepaint',
        clientSecret: 'pa55word',
        name: 'single sign-on',
        operatorGroup: null,
        isOnly: false,
      },
    ],
    [
      {
        ...OIDC,
        ...PUBLIC,
        PREPAINT_OIDC_NAME: 'Müller & Söhne',
        PREPAINT_OIDC_OPERATOR_GROUP: 'admins',
        PREPAINT_OIDC_ONLY: '1',
      },
      ({ sso }) => [sso?.name, sso?.operatorGroup, sso?.isOnly],
      ['Müller & Söhne', 'admins', true],
    ],
    ...['http://localhost:8080', 'http://127.0.0.1:1/a', 'http://[::1]', 'https://id.example'].map(
      (issuer): [Env, (config: Config) => unknown, unknown] => [
        { ...OIDC, ...PUBLIC, PREPAINT_OIDC_ISSUER: issuer },
        ({ sso }) => sso?.issuer,
        issuer,
      ],
    ),
    [
      { PREPAINT_EGRESS_ADDRESSES: '203.0.113.5, 2001:db8::/48' },
      ({ egressAddresses }) => egressAddresses,
      ['203.0.113.5', '2001:db8::/48'],
    ],
    [{}, ({ domainProof, dnsServers }) => [domainProof, dnsServers], ['takeover', null]],
    [{ PREPAINT_DOMAIN_PROOF: 'required' }, ({ domainProof }) => domainProof, 'required'],
    [
      { PREPAINT_DNS_SERVERS: '192.0.2.53:5353, [2001:db8::53]:53,192.0.2.54' },
      ({ dnsServers }) => dnsServers,
      ['192.0.2.53:5353', '[2001:db8::53]:53', '192.0.2.54'],
    ],
    [
      { PREPAINT_EDGE_TARGET: 'Edge.Example.net' },
      ({ edgeTarget }) => edgeTarget,
      { host: 'edge.example.net', addresses: [] },
    ],
    [
      { PREPAINT_EDGE_TARGET: '203.0.113.5, 2001:db8::5' },
      ({ edgeTarget }) => edgeTarget,
      { host: null, addresses: ['203.0.113.5', '2001:db8::5'] },
    ],
  ]
  for (const [env, read, value] of cases) {
    it(`${JSON.stringify(value)} for ${JSON.stringify(env)}`, () => {
      assert.deepEqual(read(loadConfig(env)), value)
    })
  }
})

describe('malformed settings stop the start, and no secret is repeated', () => {
  const cases: [name: string, problem: RegExp, values: string[], rest?: Env][] = [
    ['PREPAINT_CONTACT', /must be/, ['somebody', 'javascript:alert(1)', '"><b>@example.com', '@']],
    ['PREPAINT_PUBLIC_URL', /must not have/, ['https://a.example/?b', 'https://a.example/#b']],
    ['PREPAINT_VERIFY_CRAWLERS', /must be one of 0, 1/, ['yes']],
    ['PREPAINT_ACCESS_LOG', /must be one of/, ['1']],
    ['PREPAINT_ACME_DIRECTORY', /PREPAINT_ACME_DIRECTORY/, ['http://ca.example/dir']],
    ['PREPAINT_ACME_EMAIL', /PREPAINT_ACME_EMAIL/, ['nobody']],
    ['PREPAINT_ACME_SELF_CHECK', /PREPAINT_ACME_SELF_CHECK/, ['no']],
    ['PREPAINT_ACME_ORDERS_PER_HOUR', /PREPAINT_ACME_ORDERS_PER_HOUR/, ['0', '100001']],
    ['PREPAINT_SECRET_KEY', /PREPAINT_SECRET_KEY/, [KEY.slice(1), `${KEY},short`]],
    ['PREPAINT_METRICS_TOKEN', /must be/, ['a'.repeat(15), 'a'.repeat(201), 'has a blank in it']],
    ['PREPAINT_SMTP_URL', /needs PREPAINT_MAIL_FROM/, [SMTP.PREPAINT_SMTP_URL], PUBLIC],
    ['PREPAINT_SMTP_URL', /needs PREPAINT_PUBLIC_URL/, [SMTP.PREPAINT_SMTP_URL], FROM],
    ['PREPAINT_SMTP_URL', /must be smtp:/, ['http://us:pa55word@x'], { ...FROM, ...PUBLIC }],
    ['PREPAINT_MAIL_FROM', /needs PREPAINT_SMTP_URL/, [FROM.PREPAINT_MAIL_FROM]],
    ['PREPAINT_DOMAIN_PROOF', /must be one of off, takeover, required/, ['on']],
    [
      'PREPAINT_DNS_SERVERS',
      /takes addresses/,
      ['dns.example.net', '192.0.2.53:0', '192.0.2.53:65536', '192.0.2.53,', '192.0.2.53:53:53'],
    ],
    ['PREPAINT_OIDC_ISSUER', /needs PREPAINT_PUBLIC_URL/, [OIDC.PREPAINT_OIDC_ISSUER], OIDC],
    [
      'PREPAINT_OIDC_ISSUER',
      /needs PREPAINT_OIDC_CLIENT_ID; PREPAINT_OIDC_ISSUER needs PREPAINT_OIDC_CLIENT_SECRET/,
      [OIDC.PREPAINT_OIDC_ISSUER],
      PUBLIC,
    ],
    [
      'PREPAINT_OIDC_ISSUER',
      /must begin with https/,
      ['http://id.example', 'http://10.0.0.1', 'http://127.0.0.1.example', 'http://localhost.example'],
      { ...OIDC, ...PUBLIC },
    ],
    [
      'PREPAINT_OIDC_ISSUER',
      /must have no|must be a URL/,
      ['https://us:pa55word@id.example', 'https://id.example/?a', 'https://id.example/#a', 'id.example'],
      { ...OIDC, ...PUBLIC },
    ],
    ['PREPAINT_OIDC_CLIENT_SECRET', /needs PREPAINT_OIDC_ISSUER/, ['pa55word']],
    ['PREPAINT_OIDC_CLIENT_ID', /needs PREPAINT_OIDC_ISSUER/, ['prepaint']],
    ['PREPAINT_OIDC_NAME', /needs PREPAINT_OIDC_ISSUER/, ['Acme']],
    ['PREPAINT_OIDC_NAME', /must be 1 to 40/, [' Acme', 'x'.repeat(41), 'a\nb'], { ...OIDC, ...PUBLIC }],
    ['PREPAINT_OIDC_OPERATOR_GROUP', /needs PREPAINT_OIDC_ISSUER/, ['admins']],
    ['PREPAINT_OIDC_ONLY', /needs PREPAINT_OIDC_ISSUER/, ['1']],
    ['PREPAINT_OIDC_ONLY', /must be one of 0, 1/, ['yes'], { ...OIDC, ...PUBLIC }],
    ['PREPAINT_EDGE_TARGET', /takes/, ['https://x']],
    ['PREPAINT_EGRESS_ADDRESSES', /takes/, ['edge.example.net', '203.0.113.5/33', '203.0.113.5,']],
  ]
  for (const [name, problem, values, rest = {}] of cases) {
    it(`${name}: ${problem.source}`, () => {
      for (const value of values) {
        assert.throws(
          () => loadConfig({ ...rest, [name]: value }),
          ({ message }: Error) =>
            message.includes(name) &&
            problem.test(message) &&
            !message.includes('pa55word') &&
            !(/KEY|TOKEN/.test(name) && message.includes(value.slice(5, 20))),
          value,
        )
      }
    })
  }
})

it('the processes of the edge are a number from 1 to 64, or auto', () => {
  for (const raw of ['0', '65', 'all', '1.5']) {
    assert.throws(
      () => loadConfig({ PREPAINT_EDGE_PROCESSES: raw }),
      new ConfigError(`PREPAINT_EDGE_PROCESSES must be auto or a whole number in 1..64, got "${raw}"`),
    )
  }
})

it('a target is a host name, or addresses; nothing else', () => {
  const wrong = ['edge', 'a.example,b.example', '203.0.113.5,edge.example', '1.2.3', ',', 'a b.example']
  for (const raw of wrong) assert.equal(edgeTarget().safeParse(raw).success, false, raw)
})

it('the data directory is in the working directory for a checkout, and where the system keeps data for an installed package', () => {
  assert.equal(loadConfig({}).dataDir, path.resolve('.prepaint'))
  assert.equal(dataDirOf(null, '/x', false, 1000), path.resolve('.prepaint'))
  assert.equal(dataDirOf(null, '/x', true, 0), '/var/lib/prepaint')
  assert.equal(dataDirOf(null, '/x', true, 1000), '/x/prepaint')
  const home = path.join(homedir(), '.local/share/prepaint')
  for (const share of [null, 'relative']) assert.equal(dataDirOf(null, share, true, 1000), home)
  for (const installed of [true, false]) {
    assert.equal(dataDirOf('mine', '/x', installed, 0), path.resolve('mine'))
  }
})

it('every malformed value is reported at once, in the order of the table', () => {
  const env = {
    PREPAINT_ROLES: 'edge,cook',
    PREPAINT_PLANS_FILE: '/nowhere/plans.json',
    PREPAINT_API_PORT: '65536',
    PREPAINT_TRUSTED_PROXIES: '10.0.0.1:80, x',
    PREPAINT_MAIL_FROM: 'a@example.com',
    PREPAINT_LOG_LEVEL: 'loud',
  }
  const problems = [
    'PREPAINT_ROLES knows edge, api, render, got "cook"',
    'PREPAINT_API_PORT must be a whole number in 0..65535, got "65536"',
    'PREPAINT_TRUSTED_PROXIES takes addresses or CIDR, got "10.0.0.1:80"',
    'PREPAINT_TRUSTED_PROXIES takes addresses or CIDR, got "x"',
    'PREPAINT_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, got "loud"',
    'PREPAINT_MAIL_FROM needs PREPAINT_SMTP_URL',
    "PREPAINT_PLANS_FILE: plan catalogue /nowhere/plans.json: ENOENT: no such file or directory, open '/nowhere/plans.json'",
  ]
  assert.throws(() => loadConfig(env), new ConfigError(problems.join('; ')))
})

it('every default is a value that its setting takes', () => {
  for (const [name, { default: value, schema }] of Object.entries<Setting>(SETTINGS)) {
    if (value !== null) assert.ok(schema.safeParse(value).success, name)
  }
})

it('an empty value counts as not set, and switches IndexNow off', () => {
  const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
  assert.deepEqual(loadConfig(empty), { ...loadConfig({}), indexNowUrl: null })
  assert.equal(loadConfig({}).indexNowUrl, 'https://api.indexnow.org/indexnow')
})

describe('docs/configuration.md', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/configuration.md'), 'utf8')

  it('is what `node tools/configuration-doc.ts` writes, and has every setting once', () => {
    assert.equal(text, withTables(text))
    const names = [...text.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
    assert.deepEqual(names.toSorted(), Object.keys(SETTINGS).toSorted())
  })

  it('is out of date if a default, a meaning or a row differs, and no table may be missing', () => {
    const row = '| `PREPAINT_API_PORT` | `3000` | Port; 0 uses any free port |\n'
    assert.ok(text.includes(row))
    for (const other of [row.replace('3000', '3001'), row.replace('any free', 'a free'), '', row + row]) {
      assert.equal(withTables(text.replace(row, other)), text)
    }
    assert.throws(() => withTables(text.replace('## Mail\n', '## Post\n')), /no table in "Mail"/)
  })
})

const ignored = (env: Record<string, string>) => loadConfig(env).ignored.map(({ setting }) => setting)

describe('settings that have no effect', () => {
  it('ranges of crawlers without PREPAINT_VERIFY_CRAWLERS=1', () => {
    const ranges = { PREPAINT_CRAWLER_RANGES_DIR: 'ranges' }
    const why = 'crawlers are verified only with PREPAINT_VERIFY_CRAWLERS=1'
    assert.deepEqual(loadConfig(ranges).ignored, [{ setting: 'PREPAINT_CRAWLER_RANGES_DIR', why }])
    assert.deepEqual(ignored({ ...ranges, PREPAINT_VERIFY_CRAWLERS: '1' }), [])
  })

  it('what is said of orders to a CA, without PREPAINT_ACME_DIRECTORY', () => {
    const { PREPAINT_ACME_DIRECTORY, ...acme } = ACME
    assert.deepEqual(ignored(acme), Object.keys(acme))
    assert.deepEqual(ignored({ ...acme, PREPAINT_ACME_DIRECTORY }), [])
  })

  it('PREPAINT_ACCESS_LOG where its lines are below the level of the log', () => {
    const of = (level: string, accessLog = 'all') =>
      ignored({ PREPAINT_ACCESS_LOG: accessLog, PREPAINT_LOG_LEVEL: level })
    assert.deepEqual([of('debug'), of('info'), of('warn', 'none')], [[], [], []])
    for (const level of ['warn', 'silent']) assert.deepEqual(of(level), ['PREPAINT_ACCESS_LOG'], level)
  })

  it('a node is told only of what its roles would use: a fleet may share one environment', () => {
    const env = { PREPAINT_ACME_EMAIL: 'me@example.com', PREPAINT_CRAWLER_RANGES_DIR: 'ranges' }
    const of = (roles: string) => ignored({ ...env, PREPAINT_ROLES: roles })
    const [ranges, email] = ignored(env)
    assert.deepEqual([of('render'), of('api,render'), of('edge')], [[], [ranges], [ranges, email]])
  })
})

describe('default slots', () => {
  it('are half as many again as cores', () => {
    const slots = [1, 2, 3].map((cores) => defaultSlots({ cores, memoryBytes: 64 * GIB }))
    assert.deepEqual(slots, [2, 3, 5])
  })

  it('are as many as fit into memory, to the byte, and at least one', () => {
    const three = BASE_BYTES + 3 * SLOT_BYTES
    assert.equal(defaultSlots({ cores: 8, memoryBytes: three }), 3)
    assert.equal(defaultSlots({ cores: 8, memoryBytes: three - 1 }), 2)
    assert.equal(defaultSlots({ cores: 8, memoryBytes: GIB / 2 }), 1)
  })
})
