import { Gauge, type Registry } from 'prom-client'

/** Adds a gauge without labels. Each scrape calls `read`. */
export function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
