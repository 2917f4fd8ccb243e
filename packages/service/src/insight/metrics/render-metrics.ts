import type { Clock } from '@prepaint/runtime/clock.ts'
import { Counter, Histogram, type Registry } from 'prom-client'
import { addGauge } from './gauge.ts'

type MeasuredRenderer = {
  readonly healthy: boolean
  readonly browsers: { readonly alive: number; readonly started: number }
}

type MeasuredRendering = {
  outcome: { kind: string; isStatic?: boolean }
  record: { requests: { made: number } } | null
}

const SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30]

/** Renders and browsers of this node. */
export class RenderMetrics {
  readonly #registry: Registry
  readonly #renders: Counter<'outcome'>
  readonly #seconds: Histogram<'outcome'>
  readonly #requests: Counter
  readonly #corrected: Counter
  #inUse = 0

  constructor(registry: Registry, slots: number) {
    const registers = [registry]
    this.#registry = registry
    this.#renders = new Counter({
      name: 'prepaint_renders_total',
      help: 'Renders of this node by their outcome, before it was judged against what is stored',
      labelNames: ['outcome'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'prepaint_render_seconds',
      help: 'Time of renders by their outcome, from the moment a slot was asked for',
      labelNames: ['outcome'],
      buckets: SECONDS,
      registers,
    })
    this.#requests = new Counter({
      name: 'prepaint_render_requests_total',
      help: 'Requests that rendered pages made',
      registers,
    })
    this.#corrected = new Counter({
      name: 'prepaint_queue_corrected_total',
      help: 'Counts of the queue that differed from its jobs and that this node corrected; 0 is expected',
      registers,
    })
    addGauge(registry, 'prepaint_render_slots', 'Pages that this node renders at once, at most', () => slots)
    addGauge(registry, 'prepaint_render_slots_in_use', 'Renders under way', () => this.#inUse)
  }

  /** Returns `render`, measured. */
  measured<Request, Rendering extends MeasuredRendering>(
    render: (request: Request) => Promise<Rendering>,
    clock: Clock,
  ): (request: Request) => Promise<Rendering> {
    return async (request) => {
      const startedMs = clock.nowMs()
      this.#inUse++
      try {
        const rendering = await render(request)
        const outcome = rendering.outcome.isStatic ? 'static' : rendering.outcome.kind
        this.#renders.inc({ outcome })
        this.#seconds.observe({ outcome }, (clock.nowMs() - startedMs) / 1_000)
        this.#requests.inc(rendering.record?.requests.made ?? 0)
        return rendering
      } finally {
        this.#inUse--
      }
    }
  }

  /** Counts of the queue that differed from its jobs. */
  countsCorrected(counts: number): void {
    this.#corrected.inc(counts)
  }

  /** Registers the state of the renderer and its browsers. Call it once. */
  watches(renderer: MeasuredRenderer): void {
    addGauge(this.#registry, 'prepaint_browser_up', '1 while pages can be rendered', () =>
      Number(renderer.healthy),
    )
    addGauge(
      this.#registry,
      'prepaint_browsers',
      'Browsers that run: two while one replaces another, none after ten minutes without a render',
      () => renderer.browsers.alive,
    )
    new Counter({
      name: 'prepaint_browsers_started_total',
      help: 'Browsers started: the first, each that replaced one, and each after idle time',
      registers: [this.#registry],
      collect() {
        this.reset()
        this.inc(renderer.browsers.started)
      },
    })
  }
}
