import { Link } from 'wouter'

import { useHead } from '../head.ts'

export function NotFoundPage() {
  useHead({ title: 'Not here', description: 'This page does not exist.', status: 404 })
  return (
    <section className="plain">
      <h1>This shelf is empty</h1>
      <p>
        There is nothing at this address. <Link href="/">Back to all things</Link>
      </p>
    </section>
  )
}
