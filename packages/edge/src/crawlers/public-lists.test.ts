/** Who is a crawler, judged by user agents that others have collected. `bench/RESULTS.md` has the figures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import crawlerUserAgents from 'crawler-user-agents'
import { CrawlerTest } from './crawler-test.ts'

const crawlerTest = new CrawlerTest()

const PACKAGES = path.resolve(import.meta.dirname, '../../../../node_modules')

/** Visitors of one web site at five times between 2024 and 2026, as the npm package `user-agents` publishes them. */
const VISITORS = ['', '-2-1-75', '-2-1-60', '-2-1-37', '-2-1-1'].map((version) => `user-agents${version}`)

function visitors(name: string): string[] {
  const text = readFileSync(path.join(PACKAGES, name, 'dist/user-agents.json'), 'utf8')
  return (JSON.parse(text) as { userAgent: string }[]).map(({ userAgent }) => userAgent)
}

/** By the word of the project uap-core, whose tests stand in `@financial-times/useragent_parser`, it is one of these. */
const BROWSERS =
  /^(?:IE|Edge|Firefox|Firefox Mobile|Chrome|Chrome Mobile|Chrome Mobile iOS|Chromium|Safari|Mobile Safari|Opera|Opera Mini|Opera Mobile|Android|BlackBerry|BlackBerry WebKit|Konqueror|Netscape|Nokia .*|UC Browser|Samsung Internet|Amazon Silk|SeaMonkey|Camino|Epiphany|K-Meleon|Lynx|Links|Maxthon|Iceweasel|NetFront|Polaris|Galeon|OmniWeb|Facebook|Instagram|Snapchat)$/

/** uap-core calls it Chrome. It makes previews for Google's search. */
const NO_BROWSER = 'Google Web Preview'

function browsers(): string[] {
  const file = path.join(PACKAGES, '@financial-times/useragent_parser/test/ua.test.js')
  const text = readFileSync(file, 'utf8')
  const QUOTED = String.raw`("(?:\\.|[^"\\])*")`
  const checks = new RegExp(
    `uaParser\\(${QUOTED}\\);\\s*assert\\.strictEqual\\(results\\.family, ${QUOTED}`,
    'g',
  )
  return [...text.matchAll(checks)]
    .map(([, userAgent, family]) => ({ userAgent: parsed(userAgent!), family: parsed(family!) }))
    .filter(({ userAgent, family }) => BROWSERS.test(family) && !userAgent.includes(NO_BROWSER))
    .map(({ userAgent }) => userAgent)
}

/** Returns the text of a string in JavaScript. */
function parsed(quoted: string): string {
  return JSON.parse(quoted.replace(/\\x([0-9a-f]{2})/gi, '\\u00$1')) as string
}

it('of more than 30,000 browsers and phones of people none is given a page for crawlers', () => {
  const people = new Set([...VISITORS.flatMap(visitors), ...browsers()])
  assert(people.size > 30_000, `${people.size} user agents`)
  assert.deepEqual(
    [...people].filter((userAgent) => crawlerTest.categoryOf(userAgent) !== null),
    [],
  )
})

/** The list's own word for what is no crawler: it gets the origin, as people do. */
const TOOLS = ['http-library', 'monitoring', 'browser-automation', 'scanner']

it('at least 99 % of the crawlers of crawler-user-agents are crawlers', () => {
  const list: readonly { instances: string[]; tags?: string[] }[] = crawlerUserAgents
  const crawlers = list.filter(({ tags = [] }) => !tags.some((tag) => TOOLS.includes(tag)))
  const userAgents = crawlers.flatMap(({ instances }) => instances)
  assert(userAgents.length > 1_500, `${userAgents.length} user agents`)
  const missed = userAgents.filter((userAgent) => crawlerTest.categoryOf(userAgent) === null)
  assert(missed.length <= userAgents.length / 100, missed.join('\n'))
})

it('at least 99 % of the crawlers of crawler-user-agents that call themselves so are, but for monitors of outages', () => {
  const CALLS_ITSELF = /(?:bot|crawler|crawl|spider|slurp|archiver|indexer)(?![a-z])/i
  const list: readonly { instances: string[]; tags?: string[] }[] = crawlerUserAgents
  const listed = list.filter(({ tags = [] }) => !tags.includes('monitoring'))
  const userAgents = listed
    .flatMap(({ instances }) => instances)
    .filter((userAgent) => CALLS_ITSELF.test(userAgent.replace(/https?:\S+|\S+@\S+|www\.\S+/g, '')))
  assert(userAgents.length > 900, `${userAgents.length} user agents`)
  const missed = userAgents.filter((userAgent) => crawlerTest.categoryOf(userAgent) === null)
  assert(missed.length <= userAgents.length / 100, missed.join('\n'))
})
