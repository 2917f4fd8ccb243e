import { Link } from 'wouter'

import { loadProducts, useLoaded } from '../api.ts'
import { setPieces, useCart } from '../cart.ts'
import { useHead } from '../head.ts'
import { Picture } from '../picture.tsx'
import { Price } from '../price.tsx'

export function CartPage() {
  const cart = useCart()
  const loaded = useLoaded('products', loadProducts)
  useHead({ title: 'Your cart', description: 'What you have chosen so far.' })
  if (loaded.state !== 'ready') return <p className="loading">Counting…</p>

  const rows = loaded.data.filter(({ product }) => cart[product.slug] !== undefined)
  const total = rows.reduce((sum, { product }) => sum + product.priceCents * (cart[product.slug] ?? 0), 0)
  if (rows.length === 0) {
    return (
      <section className="plain">
        <h1>Your cart is empty</h1>
        <p>
          <Link href="/">Look around</Link>: nothing here is in a hurry.
        </p>
      </section>
    )
  }
  return (
    <section className="plain">
      <h1>Your cart</h1>
      <ul className="rows">
        {rows.map(({ product, left }) => {
          const pieces = cart[product.slug] ?? 0
          return (
            <li key={product.slug}>
              <Picture product={product} />
              <Link href={`/product/${product.slug}`}>{product.name}</Link>
              <span className="pieces">
                <button
                  type="button"
                  aria-label={`One ${product.name} less`}
                  onClick={() => setPieces(product.slug, pieces - 1)}
                >
                  −
                </button>
                {pieces}
                <button
                  type="button"
                  aria-label={`One ${product.name} more`}
                  disabled={pieces >= left}
                  onClick={() => setPieces(product.slug, pieces + 1)}
                >
                  +
                </button>
              </span>
              <Price cents={product.priceCents * pieces} />
            </li>
          )
        })}
      </ul>
      <p className="total">
        Together <Price cents={total} />
      </p>
    </section>
  )
}
