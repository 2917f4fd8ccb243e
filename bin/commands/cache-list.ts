import type { PagePath } from '../../src/ids.ts'
import { listStoredPaths } from '../../src/pages/stored-paths.ts'
import { defineCommand } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const cacheList = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const paths = await withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      const all: PagePath[] = []
      for await (const batch of listStoredPaths(pool, domain.id)) all.push(...batch)
      return all
    })
    return {
      json: {
        domain: name,
        cachedPages: paths.length,
        pages: paths.map((path) => ({ path, cacheKey: `render:${name}:${path}` })),
      },
      text: paths.length === 0 ? `No pages of ${name} are stored.` : paths.join('\n'),
    }
  },
})
