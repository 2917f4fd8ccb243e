import { Link } from 'wouter'

import { loadProducts, useLoaded } from '../api.ts'
import { useHead } from '../head.ts'
import { Picture } from '../picture.tsx'
import { Price } from '../price.tsx'

export function ListPage() {
  const loaded = useLoaded('products', loadProducts)
  const entries = loaded.state === 'ready' ? loaded.data : []
  useHead({
    title: 'Things for quiet rooms',
    description: 'Mugs, vases, lamps and baskets, each made by one pair of hands.',
    jsonLd: {
      '@type': 'ItemList',
      itemListElement: entries.map(({ product }, at) => ({
        '@type': 'ListItem',
        position: at + 1,
        name: product.name,
        url: `${location.origin}/product/${product.slug}`,
      })),
    },
  })
  return (
    <>
      <section className="hero">
        <h1>Things for quiet rooms</h1>
        <p>Mugs, vases, lamps and baskets, each made by one pair of hands in a small European workshop.</p>
      </section>
      {loaded.state === 'loading' && <p className="loading">Loading the shelves…</p>}
      <ul className="grid">
        {entries.map(({ product, left }) => (
          <li key={product.slug} className="card">
            <Link href={`/product/${product.slug}`}>
              <Picture product={product} />
              <h2>{product.name}</h2>
              <p className="line">
                <Price cents={product.priceCents} />
                <span className="left">{left} left</span>
              </p>
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
