/**
 * Takes pictures of every screen: `npm run build`, then `node tools/take-screenshots.ts [--every-width] [--axe] [name ...]`.
 * Writes to screenshots/. Fails on console errors, policy violations and screens that are wider than their window.
 * `--every-width` takes four widths, each in light and dark. With `--axe`, findings of axe are failures, too.
 * `--demo FILE` takes the screens of a portfolio and the e-mails instead. FILE is the output of a running
 * `prepaint demo --sites 40 --json`; incidents open a few minutes after its start.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { makeDataDir } from '../test/support/data-dir.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { startBrowser, type Tab, type View } from './shots/browser.ts'
import { type Demo, PORTFOLIO, preparePortfolio, readDemo, SIGNED_OUT, signIn } from './shots/portfolio.ts'
import { RAKE_PICTURE, RAKES, rakePicture, rakesPage } from './shots/rakes.ts'
import { clickSoon, DOMAIN, SCREENS, type Screen } from './shots/screens.ts'
import { seedTraffic } from './shots/traffic.ts'

const DIR = path.resolve(import.meta.dirname, '../screenshots')
const PASSWORD = 'seven quiet otters paint'

const LIGHT: View = { width: 1280, height: 800, scheme: 'light' }

const VIEWS: Record<string, View> = {
  light: LIGHT,
  dark: { width: 1280, height: 800, scheme: 'dark' },
  phone: { width: 390, height: 844, scheme: 'light' },
}

const WIDTHS = [390, 768, 1024, 1440]
const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    'every-width': { type: 'boolean', default: false },
    axe: { type: 'boolean', default: false },
    demo: { type: 'string' },
  },
})
const isEveryWidth = options['every-width']
const axe = options.axe
  ? readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  : ''

const dataDir = makeDataDir()
const complaints: string[] = []
const closing: (() => Promise<unknown>)[] = []
try {
  const browser = await startBrowser(dataDir, (line) => complaints.push(line))
  closing.unshift(browser.close)
  await mkdir(DIR, { recursive: true })
  if (options.demo === undefined) await takeShop(browser.tab)
  else await takePortfolio(browser.tab, readDemo(options.demo))
} finally {
  for (const close of closing) await close()
  await rm(dataDir, { recursive: true, force: true })
}
const unexpected = complaints.filter((line) => !/status of (401|404)/.test(line))
for (const line of new Set(unexpected)) process.stdout.write(`${line}\n`)
process.exitCode = unexpected.length === 0 ? 0 : 1

async function takeShop(tab: Tab): Promise<void> {
  const site = await startSite()
  closing.push(site.close)
  const node = await startNodeProcess(dataDir)
  closing.unshift(node.stop)
  const link = /https?:\S+\/welcome#\S+/.exec(node.log())![0]
  const each = (name: string, address: string, act?: () => Promise<void>) => take(tab, name, address, act)

  // Check that violations are noticed: style elements are forbidden.
  await tab.open(`${node.api}/sign-in`)
  await tab.run(
    `document.head.append(Object.assign(document.createElement('style'), { textContent: 'p {}' }))`,
  )
  const seen = complaints.filter((line) => /content security policy/i.test(line))
  if (seen.length === 0) throw new Error('a style element was allowed, or the violation was not reported')
  complaints.length = 0

  await each('welcome', link)
  await each('welcome-gone', `${node.api}/welcome#pp_in_unknown`)
  await tab.show(LIGHT)
  await makeAccount(tab, link)
  await each('domains-empty', `${node.api}/domains`)
  await each('traffic-empty', `${node.api}/traffic`)
  await fill(tab, site.url)
  await each('domain-traffic-empty', `${node.api}/domains/${DOMAIN}/traffic`)
  await seedTraffic(dataDir, DOMAIN)
  await visit(node.edge)
  await takeScreens(tab, node.api, SCREENS)
  await tab.show(LIGHT)
  await tab.open(`${node.api}/keys`)
  await tab.run(`document.querySelector('[aria-label$=". Your menu"]').click()`)
  await tab.run(clickSoon('Sign out'))
  await tab.until(
    `location.pathname === '/sign-in' && document.querySelector('h1').textContent === 'Sign in'`,
  )
  await each('sign-in', `${node.api}/sign-in`)
  await each('forgotten', `${node.api}/forgotten-password`)
}

async function takeScreens(tab: Tab, api: string, screens: readonly Screen[]): Promise<void> {
  for (const { name, path, before, until } of screens) {
    const act = async () => {
      if (before !== undefined) await tab.run(before)
      if (until !== undefined) await tab.until(until)
    }
    await take(tab, name, api + path, act).catch((error) => complaints.push(`${name}: ${error}`))
  }
}

async function takePortfolio(tab: Tab, demo: Demo): Promise<void> {
  await signIn(tab, demo)
  const shareLink = await preparePortfolio(tab)
  await takeScreens(tab, demo.api, PORTFOLIO)
  await tab.open(`${demo.api}/domains`)
  await tab.run(`fetch('/api/session', { method: 'DELETE' })`)
  await take(tab, 'shared-client', shareLink)
  await takeScreens(tab, demo.api, SIGNED_OUT)
}

/** Takes the pictures of one screen in all views. `act` brings the loaded page into its state. */
async function take(
  tab: Tab,
  name: string,
  address: string,
  act: () => Promise<void> = async () => {},
): Promise<void> {
  if (wanted.length > 0 && !wanted.some((want) => name.startsWith(want))) return
  const takeView = async (view: string) => {
    const file = `${name}-${view}.png`
    const isPart = await tab.run<boolean>(`document.querySelector('[aria-modal=true]') !== null`)
    await writeFile(`${DIR}/${file}`, await tab.picture(!isPart && name !== 'docs'))
    const wide = await tab.run<number>('document.documentElement.scrollWidth - innerWidth')
    if (wide > 0) complaints.push(`${file}: ${wide} px wider than its window`)
    // The API reference is another package's.
    if (axe !== '' && name !== 'docs') complaints.push(...(await axeFindings(tab, file)))
  }
  if (isEveryWidth) {
    const [narrowest] = WIDTHS as [number]
    await tab.show({ width: narrowest, height: 900, scheme: 'light' })
    await tab.open(address)
    await act()
    for (const width of WIDTHS) {
      for (const scheme of ['light', 'dark'] as const) {
        await tab.show({ width, height: 900, scheme })
        await tab.until(`document.documentElement.dataset.mantineColorScheme === '${scheme}'`)
        await takeView(`${width}-${scheme}`)
      }
    }
    return
  }
  for (const [view, shown] of Object.entries(VIEWS)) {
    await tab.show(shown)
    await tab.open(address)
    await act()
    await takeView(view)
  }
}

/** Findings of the current screen, a line for each kind. */
async function axeFindings(tab: Tab, file: string): Promise<string[]> {
  await tab.run(axe)
  const found = await tab.run<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].target + ' (' + nodes.length + ')'))`,
  )
  return found.map((finding) => `${file}: axe ${finding}`)
}

async function makeAccount(tab: Tab, link: string): Promise<void> {
  await tab.open(link)
  await tab.until(`document.querySelectorAll('input').length === 3`)
  const values = ['operator@example.com', PASSWORD, PASSWORD]
  await tab.run(`(() => {
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
    const values = ${JSON.stringify(values)}
    document.querySelectorAll('input').forEach((input, at) => {
      set.call(input, values[at])
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })
    document.querySelector('form').requestSubmit()
  })()`)
  await tab.until(`location.pathname === '/domains'`)
}

async function fill(tab: Tab, site: string): Promise<void> {
  const invited = await tab.run<{ origin: string; token: string }>(`(async () => {
    const call = async (method, path, body) => {
      const response = await fetch(path, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!response.ok) throw new Error(method + ' ' + path + ': ' + await response.text())
      return response.status === 204 ? null : response.json()
    }
    for (const name of ['${DOMAIN}', 'www.garden-tools.example', 'a-rather-long-name-for-a-shop.brand.example.com']) {
      await call('POST', '/api/domains', { custom_domain: name, origin_url: ${JSON.stringify(site)} })
    }
    await call('PUT', '/api/domains/www.garden-tools.example', { is_active: false })
    const paths = ['/', '/about', '/missing', '/broken', ...Array.from({ length: 64 }, (_, at) => '/products/' + at)]
    const { jobs } = await call('POST', '/api/cache/refresh', { domain: '${DOMAIN}', paths })
    const until = async (holds) => {
      const start = Date.now()
      while (!(await holds())) {
        if (Date.now() - start > 60_000) throw new Error('not within a minute: ' + holds)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    for (const { jobId } of jobs) {
      await until(async () => {
        const job = await (await fetch('/api/jobs/' + jobId)).json()
        return !['queued', 'running'].includes((job.job ?? job).state)
      })
    }
    await call('POST', '/api/domains/${DOMAIN}/warm', { which: 'all' })
    await until(async () => (await call('GET', '/api/domains/${DOMAIN}/warm')).warm.ended_at !== null)
    for (let version = 1; version <= 3; version++) {
      await call('POST', '/api/cache/refresh', { domain: '${DOMAIN}', paths: ['${RAKES}'] })
      const details = '/api/domains/${DOMAIN}/pages/details?path=${RAKES}'
      await until(async () => (await call('GET', details)).history.length >= version)
    }
    const { inspection } = await call('POST', '/api/domains/${DOMAIN}/inspections', { path: '${RAKES}' })
    const found = '/api/domains/${DOMAIN}/inspections/' + inspection.id
    await until(async () => !['queued', 'running'].includes((await call('GET', found)).inspection.state))
    await call('PUT', '/api/domains/${DOMAIN}/redirects', { redirects: [
      { from: '/products/1', to: '/products/2' },
      { from: '/blog/*', to: 'https://blog.example.com/*', status: 302 },
      { from: '/catalogue-1998', status: 410 },
    ] })
    const settings = { sitemap: 'generate', categories: { 'ai-training': 'payment' }, terms_url: 'https://${DOMAIN}/terms' }
    for (const text of ['User-agent: GPTBot\\nDisallow: /', 'User-agent: *\\nDisallow: /']) {
      await call('PUT', '/api/domains/${DOMAIN}', { settings: { ...settings, robots: { mode: 'replace', text } } })
    }
    await call('POST', '/api/keys', { name: 'agency scripts' })
    await call('PUT', '/api/domains/${DOMAIN}', { settings: { rules: [
      { path: '/cart*', action: 'pass' },
      { path: '/products/*', when: { categories: ['search', 'ai'], query: { lang: 'de' } }, fresh_seconds: 3600,
        render: { wait_for: '#price', block: ['chat', '*.example-widget.com'] },
        change: { remove: ['.cookie-banner'], consent: true, head: { title: 'Garden tools', robots: 'noindex' }, headers: { 'X-Robots-Tag': 'noarchive' } } },
      { path: '/old/*', action: 'gone' },
    ] } })
    const { id } = await call('POST', '/api/keys', { name: 'old laptop' })
    await fetch('/api/keys/' + id, { method: 'DELETE' })
    await call('POST', '/api/domains/${DOMAIN}/tokens', { name: 'deploy' })
    await call('POST', '/api/operator/invitations', { email: 'owner@example.com', plan: 'agency' })
    const { link } = await call('POST', '/api/operator/invitations', { email: 'owner@example.net', plan: 'pro' })
    return { origin: location.origin, token: link.token }
  })()`)
  // Outside the browser, which would be signed in as that owner.
  const used = await fetch(`${invited.origin}/api/links/use`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ token: invited.token, password: PASSWORD }),
  })
  if (!used.ok) throw new Error(await used.text())
}

async function visit(edge: string): Promise<void> {
  const agents = [
    'Googlebot/2.1',
    'Mozilla/5.0 (compatible; GPTBot/1.2)',
    'facebookexternalhit/1.1',
    'AhrefsBot/7.0',
  ]
  for (const [at, agent] of agents.entries()) {
    const request = http.get(`${edge}/products/1${at}`, { headers: { host: DOMAIN, 'user-agent': agent } })
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
    await once(answer.resume(), 'end')
  }
}

async function startSite() {
  const server = http.createServer((request, response) => {
    if (request.url === RAKE_PICTURE) {
      return void response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(rakePicture)
    }
    if (request.url === RAKES) {
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(rakesPage())
    }
    if (request.url === '/broken') return void response.writeHead(500).end('sorry')
    response.writeHead(request.url === '/missing' ? 404 : 200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><title>Shop</title><div id="app"></div><script>
      console.error('a thing that the owner should know')
      document.getElementById('app').textContent = 'Everything for the garden at ' + location.pathname
    </script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
