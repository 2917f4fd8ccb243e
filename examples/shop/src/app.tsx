import { Link, Route, Switch } from 'wouter'

import { piecesIn, useCart } from './cart.ts'
import { AboutPage } from './pages/about.tsx'
import { CartPage } from './pages/cart.tsx'
import { ListPage } from './pages/list.tsx'
import { NotFoundPage } from './pages/not-found.tsx'
import { ProductPage } from './pages/product.tsx'

export function App() {
  const pieces = piecesIn(useCart())
  return (
    <>
      <header>
        <Link href="/" className="brand">
          Lumen &amp; Loom
        </Link>
        <nav>
          <Link href="/">Shop</Link>
          <Link href="/about">About</Link>
          <Link href="/cart" className="cart">
            Cart{pieces > 0 && <b>{pieces}</b>}
          </Link>
        </nav>
      </header>
      <main>
        <Switch>
          <Route path="/" component={ListPage} />
          <Route path="/product/:slug">{({ slug }) => <ProductPage slug={slug} />}</Route>
          <Route path="/cart" component={CartPage} />
          <Route path="/about" component={AboutPage} />
          <Route component={NotFoundPage} />
        </Switch>
      </main>
      <footer>Lumen &amp; Loom, the shop that comes with Prepaint. Nothing here is really for sale.</footer>
    </>
  )
}
