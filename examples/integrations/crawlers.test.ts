import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { KNOWN_CRAWLERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { CRAWLER_AGENTS, PEOPLE_AGENTS, TOOL_AGENTS } from '../../test/support/user-agents.ts'

const { mayBeForUs } = await import(path.join(import.meta.dirname, 'prepaint-page.mjs'))
const CONF = readFileSync(path.join(import.meta.dirname, 'nginx.conf'), 'utf8')
const PATTERN = /map \$http_user_agent[^}]*?"~\*([^"]+)" 1;/.exec(CONF)?.[1] ?? ''
const inNginx = new RegExp(PATTERN, 'i')

const fronts: Record<string, (agent: string) => boolean> = {
  'nginx.conf': (agent) => inNginx.test(agent),
  'prepaint-page.mjs': (agent) =>
    mayBeForUs(new Request('https://www.example.com/', { headers: { 'user-agent': agent } })),
}

for (const [name, isCrawler] of Object.entries(fronts)) {
  describe(`${name} takes for crawlers`, () => {
    it('every one of our list, by its name alone and as it comes', () => {
      const named = KNOWN_CRAWLERS.map(({ pattern }) =>
        pattern.startsWith('^') ? `${pattern.slice(1)}1.0` : `Mozilla/5.0 (compatible; ${pattern}/1.0)`,
      )
      const missed = [...named, ...Object.values(CRAWLER_AGENTS).flat()].filter((agent) => !isCrawler(agent))
      assert.deepEqual(missed, [])
    })

    it('nobody of those who are people, also in apps that have crawlers too', () =>
      assert.deepEqual(PEOPLE_AGENTS.filter(isCrawler), []))

    it('no browser that measures', () => {
      const measuring = TOOL_AGENTS.filter((agent) => /^Mozilla\/5\.0 \(.*Chrome/.test(agent))
      assert(measuring.length >= 3)
      assert.deepEqual(measuring.filter(isCrawler), [])
    })
  })
}
