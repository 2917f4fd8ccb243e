import { useEffect, useState } from 'react'

import type { Product, Review, Stock } from './catalogue.ts'

export type Loaded<T> = { state: 'loading' } | { state: 'ready'; data: T } | { state: 'missing' }

/** The list needs two calls, the second made of what the first answered. null: no such thing. */
export async function loadProducts(): Promise<{ product: Product; left: number }[] | null> {
  const products = await get<Product[]>('/api/products')
  if (products === null) return null
  const slugs = products.map((product) => product.slug)
  const stock = await get<Stock[]>(`/api/stock?slugs=${slugs.join(',')}`)
  const leftBySlug = new Map(stock?.map(({ slug, left }) => [slug, left]))
  return products.map((product) => ({ product, left: leftBySlug.get(product.slug) ?? 0 }))
}

export async function loadProduct(
  slug: string,
): Promise<{ product: Product; left: number; reviews: Review[] } | null> {
  const product = await get<Product>(`/api/products/${encodeURIComponent(slug)}`)
  if (product === null) return null
  const more = await get<{ stock: Stock; reviews: Review[] }>(`/api/products/${product.slug}/more`)
  return { product, left: more?.stock.left ?? 0, reviews: more?.reviews ?? [] }
}

/** Loads once for each `name`; an answer that comes after the page was left is dropped. */
export function useLoaded<T>(name: string, load: () => Promise<T | null>): Loaded<T> {
  const [loaded, setLoaded] = useState<{ name: string; value: Loaded<T> } | null>(null)
  // `name` says what `load` loads; `load` itself is another function each time.
  useEffect(() => {
    let left = false
    load().then((data) => {
      if (left) return
      setLoaded({ name, value: data === null ? { state: 'missing' } : { state: 'ready', data } })
    })
    return () => {
      left = true
    }
  }, [name])
  return loaded?.name === name ? loaded.value : { state: 'loading' }
}

async function get<T>(url: string): Promise<T | null> {
  const answer = await fetch(url)
  return answer.ok ? ((await answer.json()) as T) : null
}
