import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

type MeasuredRenderer = {
  readonly healthy: boolean
  readonly browsers: { readonly alive: number; readonly started: number }
}

type MeasuredRendering = {
  outcome: { kind: string; isStatic?: boolean }
  record: { requests: { made: number } } | null
}

const SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30]

export function createRenderMetrics(registry: Registry, slots: number) {
  const registers = [registry]
  const renders = new Counter({
    name: 'prepaint_renders_total',
    help: 'Renders of this node by their outcome, before it was judged against what is stored',
    labelNames: ['outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'prepaint_render_seconds',
    help: 'Time of renders by their outcome, from the moment a slot was asked for',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  })
  const requests = new Counter({
    name: 'prepaint_render_requests_total',
    help: 'Requests that rendered pages made',
    registers,
  })
  let inUse = 0
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect: function (this: Gauge) {
        this.set(read())
      },
    })
  gauge('prepaint_render_slots', 'Pages that this node renders at once, at most', () => slots)
  gauge('prepaint_render_slots_in_use', 'Renders under way', () => inUse)

  return {
    measured<Request, Rendering extends MeasuredRendering>(
      render: (request: Request) => Promise<Rendering>,
      nowMs: () => number,
    ): (request: Request) => Promise<Rendering> {
      return async (request) => {
        const startedMs = nowMs()
        inUse++
        try {
          const rendering = await render(request)
          const outcome = rendering.outcome.isStatic ? 'static' : rendering.outcome.kind
          renders.inc({ outcome })
          seconds.observe({ outcome }, (nowMs() - startedMs) / 1_000)
          requests.inc(rendering.record?.requests.made ?? 0)
          return rendering
        } finally {
          inUse--
        }
      }
    },
    /** Call once. */
    watches(renderer: MeasuredRenderer): void {
      gauge('prepaint_browser_up', '1 while pages can be rendered', () => Number(renderer.healthy))
      gauge(
        'prepaint_browsers',
        'Browsers that run: two while one replaces another, none after ten minutes without a render',
        () => renderer.browsers.alive,
      )
      const started = new Counter({
        name: 'prepaint_browsers_started_total',
        help: 'Browsers started: the first, each that replaced one, and each after idle time',
        registers,
        collect() {
          started.reset()
          started.inc(renderer.browsers.started)
        },
      })
    },
  }
}

export type RenderMetrics = ReturnType<typeof createRenderMetrics>
