import { Link } from 'wouter'

import { loadProduct, useLoaded } from '../api.ts'
import { setPieces, useCart } from '../cart.ts'
import { useHead } from '../head.ts'
import { Picture } from '../picture.tsx'
import { Price } from '../price.tsx'
import { NotFoundPage } from './not-found.tsx'

export function ProductPage({ slug }: { slug: string }) {
  const loaded = useLoaded(slug, () => loadProduct(slug))
  const cart = useCart()
  const product = loaded.state === 'ready' ? loaded.data.product : null
  useHead(
    product === null
      ? null
      : {
          title: product.name,
          description: product.summary,
          jsonLd: {
            '@type': 'Product',
            name: product.name,
            description: product.summary,
            sku: product.slug,
            offers: {
              '@type': 'Offer',
              price: (product.priceCents / 100).toFixed(2),
              priceCurrency: 'EUR',
              availability: 'https://schema.org/InStock',
            },
          },
        },
  )
  switch (loaded.state) {
    case 'missing':
      return <NotFoundPage />
    case 'loading':
      return <p className="loading">Fetching it from the shelf…</p>
    case 'ready': {
      const { product, left, reviews } = loaded.data
      const pieces = cart[product.slug] ?? 0
      return (
        <>
          <p className="crumb">
            <Link href="/">All things</Link> / {product.name}
          </p>
          <article className="product">
            <Picture product={product} />
            <div>
              <h1>{product.name}</h1>
              <p className="maker">{product.maker}</p>
              <p>{product.summary}</p>
              <ul className="details">
                {product.details.map((detail) => (
                  <li key={detail}>{detail}</li>
                ))}
              </ul>
              <p className="line">
                <Price cents={product.priceCents} />
                <span className="left">{left} left in the workshop</span>
              </p>
              <button type="button" onClick={() => setPieces(product.slug, Math.min(pieces + 1, left))}>
                {pieces === 0 ? 'Add to cart' : `In your cart: ${pieces}. One more?`}
              </button>
            </div>
          </article>
          <section className="reviews">
            <h2>What people say</h2>
            {reviews.map((review) => (
              <blockquote key={review.author}>
                <p>{review.text}</p>
                <footer>
                  {'★'.repeat(review.stars)} {review.author}
                </footer>
              </blockquote>
            ))}
          </section>
        </>
      )
    }
  }
}
