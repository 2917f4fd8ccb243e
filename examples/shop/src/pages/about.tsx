import { useHead } from '../head.ts'

export function AboutPage() {
  useHead({
    title: 'About us',
    description: 'Five workshops, one small shop.',
    jsonLd: { '@type': 'Organization', name: 'Lumen & Loom', url: location.origin },
  })
  return (
    <section className="plain">
      <h1>Five workshops, one small shop</h1>
      <p>
        Lumen &amp; Loom sells what five workshops between Aarhus and Alcobaça make by hand. Every piece is
        made when it is ordered or stands on a shelf of the person who made it.
      </p>
      <p>
        This shop is also an example: it is a single-page application, and its HTML file is empty. What you
        read was put together by scripts in your browser, or, if you are a crawler, by Prepaint.
      </p>
    </section>
  )
}
