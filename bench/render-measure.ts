import { until } from '../test/support/condition.ts'
import type { Service, Site } from './peers/service.ts'
import { meterTree } from './tree-meter.ts'

export type RunFigures = {
  latenciesMs: number[]
  pagesPerSecond: number
  cpuMsPerPage: number
  peakBytes: number
  pages: number
  incomplete: string[]
}

export type Plan = { latencyPages: number; seconds: number; crawlers: number }

/** Numbers never repeat, so nothing comes from a cache. */
export type PageNumbers = { next(): number }

async function renderOne(service: Service, site: Site, number: number, incomplete: string[]): Promise<void> {
  const { path, texts } = site.page(number)
  try {
    const { status, html, fresh } = await service.render(path)
    const missing = texts.find((text) => !html.includes(text))
    if (status !== 200) incomplete.push(`${path}: status ${status}`)
    else if (!fresh) incomplete.push(`${path}: not rendered now`)
    else if (missing !== undefined) incomplete.push(`${path}: lacks "${missing}"`)
  } catch (error) {
    incomplete.push(`${path}: ${String(error)}`)
  }
}

/** Renders `pages` complete pages; a peer may refuse some at first. Throws after a minute without any. */
export async function warmUp(
  service: Service,
  site: Site,
  numbers: PageNumbers,
  pages: number,
): Promise<void> {
  for (let page = 0; page < pages; page += 1) {
    await until(
      `${service.name} renders a page`,
      async () => {
        const incomplete: string[] = []
        await renderOne(service, site, numbers.next(), incomplete)
        if (incomplete[0] !== undefined) throw new Error(incomplete[0])
        return true
      },
      60_000,
    )
  }
}

/** First pages one at a time, then all crawlers concurrently for `seconds`. */
export async function measureRun(
  service: Service,
  site: Site,
  numbers: PageNumbers,
  plan: Plan,
): Promise<RunFigures> {
  const meter = meterTree(service.pid)
  const incomplete: string[] = []
  const latenciesMs: number[] = []
  for (let page = 0; page < plan.latencyPages; page += 1) {
    const begunMs = performance.now()
    await renderOne(service, site, numbers.next(), incomplete)
    latenciesMs.push(performance.now() - begunMs)
  }

  let crawled = 0
  const begunMs = performance.now()
  const crawl = async () => {
    while (performance.now() - begunMs < plan.seconds * 1_000) {
      await renderOne(service, site, numbers.next(), incomplete)
      crawled += 1
    }
  }
  await Promise.all(Array.from({ length: plan.crawlers }, crawl))
  const tookMs = performance.now() - begunMs

  const pages = latenciesMs.length + crawled
  const cpuMsPerPage = meter.cpuMs() / pages
  meter.stop()
  return {
    latenciesMs,
    pagesPerSecond: crawled / (tookMs / 1_000),
    cpuMsPerPage,
    peakBytes: meter.peakBytes(),
    pages,
    incomplete,
  }
}
