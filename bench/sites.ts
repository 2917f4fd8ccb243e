import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { startShop } from '../examples/shop/server.ts'
import { PRODUCTS, reviewsOf } from '../examples/shop/src/catalogue.ts'
import { startAppOrigin } from '../test/apps/app.ts'
import { openCatalogue } from '../test/apps/catalogue.ts'
import { openApplications } from './applications.ts'
import type { PageToRender, Site } from './peers/service.ts'

/** The demo shop (`shop-at-once`: its data without delay), or an application of test/apps or of `openApplications`. */
export async function openSite(name: string): Promise<Site> {
  if (name === 'shop') return openShop(name)
  return name === 'shop-at-once' ? openShop(name, 0) : openApp(name)
}

async function openShop(name: string, apiDelayMs?: number): Promise<Site> {
  const shop = await startShop({ port: 0, apiDelayMs, onLongStep: (line) => console.error(line) })
  const list = PRODUCTS.map((product) => product.name)
  return {
    name,
    originUrl: shop.url,
    page(number) {
      const product = PRODUCTS[number % PRODUCTS.length]!
      const pages: PageToRender[] = [
        { path: '/', texts: [...list, ' left<'] },
        { path: '/about', texts: ['between Aarhus and Alcobaça'] },
      ]
      const { path: at, texts } = pages[number % 8] ?? {
        path: `/product/${product.slug}`,
        texts: [
          product.summary,
          'left in the workshop',
          'application/ld+json',
          ...reviewsOf(product.slug).map(({ author }) => author),
        ],
      }
      return { path: `${at}?visit=${number}`, texts }
    },
    close: shop.close,
  }
}

async function openApp(name: string): Promise<Site> {
  const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
  const known = await openCatalogue(dir)
  const isCalled = (one: { name: string }) => one.name === name
  const app = known.find(isCalled) ?? openApplications().find(isCalled)
  if (app === undefined) throw new Error(`no application is called "${name}"`)
  const origin = await startAppOrigin(app)
  return {
    name,
    originUrl: origin.url,
    page(number) {
      const page = app.pages[number % app.pages.length]!
      return { path: `${page.path}?visit=${number}`, texts: page.texts }
    },
    async close() {
      await origin.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
