/**
 * Judges lists of user agents, one a line: `node bench/crawler-lists.ts people FILE...` prints those that are taken for
 * crawlers, `crawlers FILE...` those that are not. Figures: bench/RESULTS.md.
 */
import { readFileSync } from 'node:fs'
import { CrawlerTest } from '../packages/edge/src/crawlers/crawler-test.ts'

const [kind, ...files] = process.argv.slice(2)
if ((kind !== 'people' && kind !== 'crawlers') || files.length === 0) {
  console.error('Usage: node bench/crawler-lists.ts people|crawlers FILE...')
  process.exit(2)
}
const crawlerTest = new CrawlerTest()
const agents = new Set(files.flatMap((file) => readFileSync(file, 'utf8').split('\n')).filter(Boolean))
const wrong = [...agents].filter(
  (agent) => (crawlerTest.categoryOf(agent) === null) === (kind === 'crawlers'),
)
for (const agent of wrong) console.log(agent)
console.log(`${agents.size} user agents of ${kind}, ${wrong.length} judged otherwise`)
