import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { after, beforeEach, describe, it } from 'node:test'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import { createAddressGuard, NameServers } from '@prepaint/outbound'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { insertDomain, openTestDatabase } from '../../../../../test/support/database.ts'
import { freePort, listening, serve } from '../../../../../test/support/loopback.ts'
import { startNameServer, type Zone } from '../../../../../test/support/name-server.ts'
import { lookForProof } from './look-for-proof.ts'
import { publishMark, receiveMark, withdrawMark } from './marks.ts'
import { PROOF_PATH, proofRecords, proofToken } from './proof-records.ts'

const { pool, column } = await openTestDatabase()
const account = 7 as AccountId
const stranger = 8 as AccountId
const name = 'shop.example.com' as DomainName
const token = await proofToken(pool, account, name)
const records = proofRecords(name, token)
const LINE = records.file.content

const zone: Zone = {}
const dns = await startNameServer({ after }, zone)
const names = new NameServers([dns.server])

type Site = (path: string, req: http.IncomingMessage, res: http.ServerResponse) => unknown
let site: Site
let second: Site
const seen: http.IncomingMessage[] = []
const answer =
  (of: () => Site): http.RequestListener =>
  (req, res) => {
    seen.push(req)
    void of()(req.url ?? '', req, res)
  }
const plain = await serve(answer(() => site))
// Another address of the name, at the same port.
const other = http.createServer(answer(() => second)).listen(plain.port, '127.0.0.2')
await once(other, 'listening')
const closed = await freePort()
after(async () => {
  await plain.close()
  other.closeAllConnections()
  other.close()
})

const allow = (net: string) => createAddressGuard([{ cidr: ipaddr.parseCIDR(net), port: null }])
const text =
  (answers: Record<string, string>): Site =>
  (path, _req, res) => {
    const found = answers[path]
    res.writeHead(found === undefined ? 404 : 200).end(found)
  }

type LookOptions = { of?: AccountId; guard?: string; https?: number; withinMs?: number; target?: EdgeTarget }
const look = ({ of = account, guard = '127.0.0.0/30', target, withinMs, ...ports }: LookOptions = {}) =>
  lookForProof(
    pool,
    { account: of, name },
    {
      guard: allow(guard),
      names,
      target: target ?? null,
      withinMs,
      ports: { http: plain.port, https: ports.https ?? closed },
    },
  )

/** The kind and method, or what was found instead. */
async function found(options?: LookOptions): Promise<unknown[]> {
  const result = await look(options)
  return result.kind === 'found' ? [result.method] : [result.site, result.error]
}

/** Another account had the name, which led to these addresses of ours. */
const remembered = (addresses: string[]) =>
  pool.query(
    `insert into domain_former (name_hash, ended_at, addresses) values (sha256(convert_to($1, 'UTF8')), now(), $2)`,
    [name, addresses],
  )

beforeEach(async () => {
  await pool.query('truncate domain_former')
  for (const key of Object.keys(zone)) delete zone[key]
  zone[name] = ['127.0.0.1']
  site = text({})
  second = text({})
  seen.length = 0
})

describe('the TXT record', () => {
  // Proves decided "Proof of a domain"
  it('proves the name for its account, and for no other account', async () => {
    zone[`TXT _prepaint.${name}`] = ['v=spf1 -all', LINE]
    assert.deepEqual(await found(), ['dns'])
    assert.equal((await found({ of: stranger }))[0], 'elsewhere')
    assert.equal((await column('select 1 from domain_proof_mark')).length, 0)
  })

  it('may stand at a parent name with two labels, and needs no address', async () => {
    delete zone[name]
    zone['TXT _prepaint.example.com'] = [LINE]
    assert.deepEqual(await found(), ['dns'])
    delete zone['TXT _prepaint.example.com']
    zone['TXT _prepaint.com'] = [LINE]
    const none = 'Found no TXT record, and the name has no address in the DNS.'
    assert.deepEqual(await found(), ['none', none])
  })

  it('is not said to be absent if a name server fails', async () => {
    zone[`TXT _prepaint.${name}`] = 'fails'
    const result = await look()
    assert.deepEqual(result, {
      kind: 'missing',
      site: 'elsewhere',
      isRecordAbsent: false,
      error: 'The name servers did not answer. Try again.',
    })
    zone[name] = 'fails'
    assert.equal((await found())[0], 'silent')
    await remembered(['192.0.2.7'])
    assert.equal((await found())[0], 'unknown', 'it led here when another account had it')
  })
})

describe('the file and the tag', () => {
  // Proves decided "Proof of a domain"
  it('prove the name for its account, and for no other account', async () => {
    site = text({ [PROOF_PATH]: `${LINE}\n` })
    assert.deepEqual(await found(), ['file'])
    assert.equal((await found({ of: stranger }))[0], 'elsewhere')
    site = text({ '/': `<head>${records.meta.tag}</head>` })
    assert.deepEqual(await found(), ['meta'])
    assert.equal((await found({ of: stranger }))[0], 'elsewhere')
  })

  it('are asked for by what looks like a browser, without a path of ours, with one mark of 128 bits for each check', async () => {
    await look()
    const marks = seen.map(({ headers }) => headers['x-prepaint-proof'])
    assert.deepEqual(
      seen.map(({ url, headers }) => `${headers.host?.replace(/:\d+$/, '')} ${url}`),
      [`${name} ${PROOF_PATH}`, `${name} /`],
    )
    assert.match(String(marks[0]), /^[0-9a-f]{32}$/)
    assert.equal(marks[1], marks[0])
    for (const { headers } of seen)
      assert.match(headers['user-agent'] ?? '', /^Mozilla.* Chrome.* Safari\/[\d.]+$/)
    await look()
    assert.notEqual(seen.at(-1)!.headers['x-prepaint-proof'], marks[0])
  })

  it('must be at every address of the name that answers', async () => {
    zone[name] = ['127.0.0.1', '127.0.0.2']
    site = text({ [PROOF_PATH]: LINE })
    const partly = 'The file or the tag is not at every address of the name.'
    assert.deepEqual(await found(), ['elsewhere', partly])
    second = site
    assert.deepEqual(await found(), ['file'])
    // Nothing listens at the third.
    zone[name] = ['127.0.0.1', '127.0.0.3']
    assert.deepEqual(await found(), ['file'])
  })

  it('are not asked for at addresses that the guard refuses', async () => {
    site = text({ [PROOF_PATH]: LINE })
    assert.deepEqual(await found({ guard: '10.0.0.0/8' }), [
      'silent',
      'Found no TXT record, and the site did not answer.',
    ])
    assert.equal(seen.length, 0)
  })

  it('are found by https, whatever the certificate', async (t) => {
    const { privateKey, certificate } = createSelfSigned('another.example')
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const secure = https.createServer({ key, cert: certificate }, (req, res) => {
      res.writeHead(req.url === PROOF_PATH ? 200 : 404).end(LINE)
    })
    t.after(() => secure.close().closeAllConnections())
    assert.deepEqual(await found({ https: await listening(secure) }), ['file'])
    assert.equal(seen.length, 0, 'http is not asked where https answers')
  })

  it('are found after redirects on the same host, and not on another', async () => {
    site = (path, _req, res) => {
      if (path === PROOF_PATH) res.writeHead(302, { location: `http://${name}/moved` }).end()
      else if (path === '/moved') res.end(LINE)
      else res.writeHead(404).end()
    }
    assert.deepEqual(await found(), ['file'])
    for (const location of ['https://www.example.net/x', '//www.example.net/x', `http://${name}:8081/`]) {
      site = (_path, _req, res) => res.writeHead(301, { location }).end()
      const [state, error] = await found()
      assert.equal(state, 'elsewhere')
      assert.match(String(error), /redirects to .*, which proves nothing for this name\.$/)
    }
    site = (path, _req, res) => res.writeHead(302, { location: `${path}x` }).end()
    assert.equal((await found())[0], 'elsewhere', 'redirects without an end')
  })

  it('are looked for in the first 64 KiB of an answer, and not a byte further', async () => {
    const ending = (bytes: number) => `${'x'.repeat(bytes - LINE.length - 1)}\n${LINE}`
    site = text({ [PROOF_PATH]: ending(65_536) })
    assert.deepEqual(await found(), ['file'])
    site = text({ [PROOF_PATH]: ending(65_537) })
    assert.equal((await found())[0], 'elsewhere')
    site = text({ '/': `<head>${records.meta.tag}</head><body>${'x'.repeat(200_000)}` })
    assert.deepEqual(await found(), ['meta'], 'a long page has its head at the beginning')
  })

  it('of a site that is silent, or sends for ever, are given up', async () => {
    site = () => {}
    assert.equal((await found({ withinMs: 300 }))[0], 'silent')
    site = (_path, _req, res) => {
      res.writeHead(200)
      const timer = setInterval(() => res.write('x'), 20)
      res.on('close', () => clearInterval(timer))
    }
    assert.equal((await found({ withinMs: 600 }))[0], 'silent')
    assert.equal((await column('select 1 from domain_proof_mark')).length, 0)
  })
})

describe('a name that leads to this installation', () => {
  const isHere =
    /^The name leads to this installation, which cannot prove it by its own answers\. Add the TXT record/

  // Proves decided "Proof of a domain"
  it('is not proven by what an edge has received, whatever comes back', async () => {
    site = async (path, req, res) => {
      await receiveMark(pool, String(req.headers['x-prepaint-proof']))
      text({ [PROOF_PATH]: LINE, '/': `<head>${records.meta.tag}</head>` })(path, req, res)
    }
    const [state, error] = await found()
    assert.equal(state, 'here')
    assert.match(String(error), isHere)
  })

  it('is not proven through a CDN that drops the mark: the answer says that it is an edge’s', async () => {
    site = (_path, _req, res) => res.writeHead(200, { 'x-prepaint': 'pass; not-a-crawler' }).end(LINE)
    assert.equal((await found())[0], 'here')
  })

  it('is known by the address or alias that the operator names, and not asked then', async () => {
    site = text({ [PROOF_PATH]: LINE })
    assert.equal((await found({ target: { host: null, addresses: ['127.0.0.1'] } }))[0], 'here')
    zone['edge.example.net'] = ['127.0.0.1']
    assert.equal((await found({ target: { host: 'edge.example.net', addresses: [] } }))[0], 'here')
    assert.equal(seen.length, 0)
    assert.deepEqual(await found({ target: { host: null, addresses: ['127.0.0.9'] } }), ['file'])
  })

  it('is known by addresses at which it led here before, and other names do, also if nothing answers there', async () => {
    zone[name] = ['127.0.0.3']
    assert.equal((await found())[0], 'silent')
    await remembered(['127.0.0.3', '192.0.2.7'])
    assert.equal((await found())[0], 'here')
    zone[name] = ['127.0.0.1', '127.0.0.3']
    assert.equal((await found())[0], 'here', 'also if another address of the name answers')
    site = text({ [PROOF_PATH]: LINE })
    assert.deepEqual(await found(), ['file'], 'which is the site of whoever shows the file there')
    zone[name] = ['127.0.0.3']
    await pool.query('truncate domain_former')
    const other = await insertDomain(pool, 'other.example.com')
    await pool.query(
      `insert into dns_look (domain_id, state, addresses) values ($1, 'elsewhere', '{127.0.0.3}')`,
      [other],
    )
    assert.equal((await found())[0], 'silent')
    await pool.query(`update dns_look set state = 'reaches-us'`)
    assert.equal((await found())[0], 'here')
    await pool.query('delete from domain')
  })
})

describe('a mark', () => {
  it('is of one check, until it ends or two minutes have passed', async () => {
    const mark = await publishMark(pool)
    assert.equal(
      await receiveMark(
        pool,
        mark.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      ),
      false,
    )
    assert.equal(await receiveMark(pool, mark), true)
    assert.equal(await withdrawMark(pool, mark), true)
    assert.equal(await receiveMark(pool, mark), false)
    const unseen = await publishMark(pool)
    assert.equal(await withdrawMark(pool, unseen), false)
    const old = await publishMark(pool)
    await pool.query('update domain_proof_mark set expires_at = now()')
    assert.equal(await receiveMark(pool, old), false)
  })
})
