/** compose.yaml, the Kubernetes manifests, the unit, the Dockerfile and the lock file agree with each other and with the product. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { IContainer } from 'kubernetes-models/v1/Container'
import type { IPodSecurityContext } from 'kubernetes-models/v1/PodSecurityContext'
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '../bin/settings/table.ts'
import { unknownNames } from './support/kubernetes-schema.ts'
import { hasProgram } from './support/program.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }
const dockerfile = read('Dockerfile')

type Labels = Record<string, string>

type Pod = IPodSpec & { securityContext: IPodSecurityContext }
type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Labels }
  spec: {
    replicas?: number
    strategy?: { rollingUpdate: { maxUnavailable: number; maxSurge: number | string } }
    template: { metadata: { labels: Labels }; spec: Pod }
    volumeClaimTemplates?: { metadata: { name: string } }[]
    selector: Labels & { matchLabels: Labels }
    podSelector: { matchLabels: Labels }
    maxUnavailable: number
    scaleTargetRef: { kind: string; name: string }
    minReplicas: number
    minReplicaCount: number
    cooldownPeriod: number
    metrics: { external?: { metric: { name: string }; target: { averageValue: string } } }[]
    triggers: { type: string; metadata: Record<string, string> }[]
    endpoints: { bearerTokenSecret: { name: string; key: string } }[]
    ports: { targetPort: string }[]
    ingress: { ports?: { port: string }[] }[]
    egress: { to: { ipBlock?: { cidr: string; except: string[] } }[] }[]
  }
}
type Container = Required<IContainer>

const folder = 'deploy/kubernetes'
const OVERLAYS = ['base', 'with-keda', 'with-hpa', 'with-edge-volume', 'with-service-monitor'] as const
type Overlay = (typeof OVERLAYS)[number]
const COMPONENT = 'app.kubernetes.io/component'

type Kustomization = {
  resources?: string[]
  patchesStrategicMerge?: string[]
  images: { name: string; newTag: string }[]
  configMapGenerator: { name: string; literals: string[] }[]
}
const readKustomization = (overlay: string) =>
  parse(read(`${folder}/${overlay}/kustomization.yaml`)) as Kustomization
const parts = readKustomization('parts')

/** kubectl of Debian 12 has kustomize 2.0. */
const isKubectlInstalled = hasProgram('kubectl', 'kubernetes-client')
if (!isKubectlInstalled) {
  process.stderr.write('No test of the Kubernetes manifests: apt-get install kubernetes-client\n')
}
const render = (overlay: string): Manifest[] => {
  const text = execFileSync('kubectl', ['kustomize', path.join(ROOT, folder, overlay)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** Null: of another operator, whose schema is no package. */
function modelOf({ apiVersion, kind }: Manifest): string | null {
  if (apiVersion === 'monitoring.coreos.com/v1') return null
  const models = apiVersion.startsWith('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models'
  return `${models}/${apiVersion}/${kind}`
}

if (isKubectlInstalled) {
  describe('the Kubernetes manifests', async () => {
    const rendered = Object.fromEntries(OVERLAYS.map((overlay) => [overlay, render(overlay)])) as Record<
      Overlay,
      Manifest[]
    >
    const every = OVERLAYS.flatMap((overlay) => rendered[overlay].map((manifest) => ({ overlay, manifest })))
    const ofKind = (overlay: Overlay, ...kinds: string[]) =>
      rendered[overlay].filter(({ kind }) => kinds.includes(kind))
    const workloads = (overlay: Overlay) => ofKind(overlay, 'Deployment', 'StatefulSet')
    const named = (overlay: Overlay, kind: string, name: string) => {
      const found = ofKind(overlay, kind).filter(({ metadata }) => metadata.name === name)
      assert.equal(found.length, 1, `${overlay}: ${kind} ${name}`)
      return found[0]!
    }
    const containerOf = ({ spec }: Manifest) => spec.template.spec.containers[0] as Container
    const slotsOf = (overlay: Overlay) =>
      containerOf(named(overlay, 'Deployment', 'render')).env.find(
        ({ name }) => name === 'PREPAINT_RENDER_SLOTS',
      )?.value

    it('are the same without the name of an overlay as in base', () => {
      assert.deepEqual(render('.'), rendered.base)
    })

    it('name every file of their folder', () => {
      for (const overlay of OVERLAYS) {
        const { resources = [], patchesStrategicMerge = [] } = readKustomization(overlay)
        const named = [...resources, ...patchesStrategicMerge]
        const files = readdirSync(path.join(ROOT, folder, overlay)).filter(
          (file) => !/^(kustomization|prometheus-adapter-rule)\.yaml$/.test(file),
        )
        assert.deepEqual(named.sort(), files.sort(), overlay)
      }
    })

    it('are valid objects of Kubernetes and KEDA, without names that their kinds do not have', async () => {
      let checked = 0
      for (const { overlay, manifest } of every) {
        const model = modelOf(manifest)
        if (model === null) continue
        const { [manifest.kind]: Model } = (await import(model)) as Record<
          string,
          new (
            data: unknown,
          ) => { validate(): void }
        >
        new Model!(manifest).validate()
        assert.deepEqual(
          unknownNames(model, manifest),
          [],
          `${overlay}: ${manifest.kind} ${manifest.metadata.name}`,
        )
        checked++
      }
      assert(checked > 70)
    })

    it('would not pass with a name that does not exist, at any depth', () => {
      const wrong = structuredClone(named('base', 'Deployment', 'edge')) as Manifest & {
        spec: { replica?: number }
      }
      wrong.spec.replica = 1
      Object.assign(containerOf(wrong).readinessProbe, { periodSecond: 5 })
      assert.deepEqual(
        unknownNames('kubernetes-models/apps/v1/Deployment', wrong),
        ['.spec.replica', '.spec.template.spec.containers[0].readinessProbe.periodSecond'].sort(
          (one, other) => (one.length < other.length ? 1 : -1),
        ),
      )
    })

    it('stand in one namespace, each with its labels, and each selector finds pods of one component', () => {
      for (const { overlay, manifest } of every) {
        const { kind, metadata, spec } = manifest
        if (kind === 'Namespace') continue
        assert.equal(metadata.namespace, 'prepaint', `${overlay}: ${kind} ${metadata.name}`)
        const wanted = kind === 'Service' ? spec.selector : (spec?.podSelector ?? spec?.selector)?.matchLabels
        if (wanted === undefined || kind === 'ServiceMonitor') continue
        const found = workloads(overlay).filter(({ spec: { template } }) =>
          Object.entries(wanted).every(([name, value]) => template.metadata.labels[name] === value),
        )
        assert.equal(
          found.length,
          metadata.name === 'metrics' ? 3 : 1,
          `${overlay}: ${kind} ${metadata.name}`,
        )
      }
    })

    it('run each role as a workload of its own, with settings that exist', () => {
      for (const overlay of OVERLAYS) {
        const variables = workloads(overlay).flatMap((each) => containerOf(each).env)
        const roles = variables.filter(({ name }) => name === 'PREPAINT_ROLES')
        assert.deepEqual(roles.map(({ value }) => value).sort(), ['api', 'edge', 'render'])
        for (const { name } of variables) assert.ok(Object.hasOwn(SETTINGS, name), name)
      }
      const literals = parts.configMapGenerator.flatMap((each) => each.literals)
      for (const literal of literals) assert.ok(Object.hasOwn(SETTINGS, literal.split('=')[0]!), literal)
    })

    it('take secrets by reference only: three that are needed, three that are optional', () => {
      const keys = new Set<string>()
      for (const { manifest } of every.filter(({ manifest }) =>
        /Deployment|StatefulSet/.test(manifest.kind),
      )) {
        for (const { name, value, valueFrom } of containerOf(manifest).env) {
          const isSecret = /DATABASE_URL|SECRET|TOKEN|BODIES|SMTP/.test(name)
          assert.equal(value === undefined, isSecret, name)
          if (!isSecret) continue
          const { name: secret, key, optional = false } = valueFrom!.secretKeyRef!
          assert.deepEqual([secret, optional], ['prepaint', /BODIES|SMTP|OIDC/.test(name)], name)
          keys.add(key)
        }
      }
      assert.deepEqual([...keys].sort(), [
        'bodies',
        'database-url',
        'metrics-token',
        'oidc-client-secret',
        'secret-key',
        'smtp-url',
      ])
    })

    it('have pods without privileges, with a read-only root, that drain before they end', () => {
      for (const overlay of OVERLAYS) {
        for (const each of workloads(overlay)) {
          const { spec: pod, metadata } = each.spec.template
          const container = containerOf(each)
          const isRender = metadata.labels[COMPONENT] === 'render'
          const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext
          assert.deepEqual([runAsNonRoot, runAsUser, pod.hostUsers], [true, 1000, undefined])
          const localhost = { type: 'Localhost', localhostProfile: 'prepaint.json' }
          assert.deepEqual(seccompProfile, isRender ? localhost : { type: 'RuntimeDefault' })
          assert.deepEqual(container.securityContext, {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          })
          assert.deepEqual(container.lifecycle.preStop?.exec?.command, ['sleep', '5'])
          assert.equal(pod.terminationGracePeriodSeconds, 30)
          const volumes = [
            ...(pod.volumes ?? []),
            ...(each.spec.volumeClaimTemplates ?? []).map(({ metadata: claim }) => claim),
          ]
          for (const { name } of container.volumeMounts)
            assert.ok(
              volumes.some((volume) => volume.name === name),
              name,
            )
          const mounted = container.volumeMounts.map(({ mountPath }) => mountPath)
          for (const at of ['/tmp', '/var/lib/prepaint']) assert.ok(mounted.includes(at))
          assert.equal(mounted.includes('/dev/shm'), isRender)
        }
      }
      const literals = parts.configMapGenerator.flatMap((each) => each.literals)
      assert.ok(literals.includes('PREPAINT_REQUIRE_SANDBOX=1'))
    })

    it('have probes by which no pod is killed because PostgreSQL is away, nor an edge taken out of rotation', () => {
      for (const { manifest } of every.filter(({ manifest }) =>
        /Deployment|StatefulSet/.test(manifest.kind),
      )) {
        const container = containerOf(manifest)
        const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe]
        const ready = container.ports.some(({ name }) => name === 'edge') ? '/readyz/edge' : '/readyz'
        assert.equal(probes.map(({ httpGet }) => httpGet?.path).join(), `${ready},${ready},/healthz`)
        const ports = container.ports.map(({ name }) => name)
        for (const { httpGet } of probes) assert.ok(ports.includes(String(httpGet?.port)))
      }
    })

    it('are updated without losing a pod, and lose one at a time to drains of machines', () => {
      for (const component of ['edge', 'api', 'render']) {
        const { strategy } = named('base', 'Deployment', component).spec
        const maxSurge = component === 'render' ? '25%' : 1
        assert.deepEqual(strategy?.rollingUpdate, { maxUnavailable: 0, maxSurge })
        assert.equal(named('base', 'PodDisruptionBudget', component).spec.maxUnavailable, 1)
      }
    })

    it('services and network policies name ports that exist, and renders reach no private address', () => {
      for (const overlay of OVERLAYS) {
        const ports = new Set(
          workloads(overlay).flatMap((each) => containerOf(each).ports.map(({ name }) => name)),
        )
        for (const { spec } of ofKind(overlay, 'Service')) {
          for (const { targetPort } of spec.ports) assert.ok(ports.has(targetPort), targetPort)
        }
      }
      const policies = ofKind('base', 'NetworkPolicy')
      assert.deepEqual(policies.map(({ metadata }) => metadata.name).sort(), ['api', 'edge', 'render'])
      for (const { metadata, spec } of policies) {
        const ports = containerOf(named('base', 'Deployment', metadata.name)).ports.map(({ name }) => name)
        for (const { port } of spec.ingress.flatMap((rule) => rule.ports ?? []))
          assert.ok(ports.includes(port), port)
        const blocks = spec.egress.flatMap(({ to }) => to).flatMap(({ ipBlock }) => ipBlock ?? [])
        assert.equal(blocks.map(({ cidr }) => cidr).join(), '0.0.0.0/0,::/0')
        const excepted = blocks.flatMap(({ except }) => except)
        for (const range of ['10.0.0.0/8', '169.254.0.0/16', 'fc00::/7']) assert.ok(excepted.includes(range))
      }
    })

    it('scale edge and API by processor time, and rendering by the slots that the fleet wants', () => {
      const targets = (overlay: Overlay) =>
        ofKind(overlay, 'HorizontalPodAutoscaler').map(
          ({ spec }) => `${spec.scaleTargetRef.kind} ${spec.scaleTargetRef.name}`,
        )
      assert.deepEqual(targets('base').sort(), ['Deployment api', 'Deployment edge'])
      assert.deepEqual(targets('with-edge-volume').sort(), ['Deployment api', 'StatefulSet edge'])
      const { spec: scaled } = named('with-keda', 'ScaledObject', 'render')
      const [trigger] = scaled.triggers
      assert.equal(trigger!.metadata['query'], 'max(prepaint_render_slots_wanted)')
      assert.deepEqual([scaled.minReplicaCount, scaled.cooldownPeriod], [2, 600])
      assert.equal(trigger!.metadata['threshold'], slotsOf('with-keda'))
      const { spec: hpa } = named('with-hpa', 'HorizontalPodAutoscaler', 'render')
      const { metric, target } = hpa.metrics[0]!.external!
      assert.equal(metric.name, 'prepaint_render_slots_wanted')
      assert.equal(target.averageValue, slotsOf('with-hpa'))
      assert.equal(slotsOf('base'), undefined)
    })

    it('the edge with a volume is the edge of base, but for its claim and what a StatefulSet needs', () => {
      const [stateful, plain] = [
        named('with-edge-volume', 'StatefulSet', 'edge'),
        named('base', 'Deployment', 'edge'),
      ]
      assert.equal(
        ofKind('with-edge-volume', 'Deployment').some(({ metadata }) => metadata.name === 'edge'),
        false,
      )
      const withoutDisk = structuredClone(stateful.spec.template)
      const container = withoutDisk.spec.containers[0] as Container
      container.env = container.env.filter(({ name }) => name !== 'PREPAINT_EDGE_DISK_BYTES')
      const expected = structuredClone(plain.spec.template)
      expected.spec.volumes = expected.spec.volumes!.filter(({ name }) => name !== 'data')
      assert.deepEqual(withoutDisk, expected)
      assert.deepEqual(
        stateful.spec.volumeClaimTemplates!.map(({ metadata }) => metadata.name),
        ['data'],
      )
    })

    it('Prometheus is given the token of the metrics by reference', () => {
      const { spec } = named('with-service-monitor', 'ServiceMonitor', 'prepaint')
      assert.deepEqual(spec.endpoints[0]!.bearerTokenSecret, { name: 'prepaint', key: 'metrics-token' })
    })
  })
}

it('arm64 has every native package of x64, in the same version, and a Dockerfile without a processor in it', () => {
  type Package = { version: string; cpu?: string | string[]; dev?: boolean }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Package> }
  const shipped = Object.entries(packages).filter(([, { cpu, dev }]) => cpu !== undefined && dev !== true)
  const of = (processor: string) =>
    shipped
      .filter(([, { cpu }]) => [cpu].flat().includes(processor))
      .map(([at, { version }]) => `${at.replace(processor, '')} ${version}`)
  assert.equal(of('x64').length, 2, 'Node and PostgreSQL')
  assert.deepEqual(of('arm64').sort(), of('x64').sort())
  assert.equal(shipped.length, 4)
  assert.doesNotMatch(dockerfile, /amd64|arm64|x86[_-]64|x64|aarch64/)
})

describe('the other ways to deploy', () => {
  it('name the version of the package', () => {
    assert.match(dockerfile, new RegExp(`image\\.version="${version}"`))
    assert.match(read('compose.yaml'), new RegExp(`image: prepaint:${version}$`, 'm'))
    for (const { images } of [readKustomization('base'), readKustomization('with-edge-volume')]) {
      assert.equal(images.map(({ newTag }) => newTag).join(), version)
    }
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version}`, 'm'))
    assert.match(
      read('docs/operations.md'),
      new RegExp(`npm install --global \\./prepaint-${version}\\.tgz$`, 'm'),
    )
  })

  it('compose.yaml publishes the ports of the image, and settings that exist', () => {
    const { services } = parse(read('compose.yaml')) as {
      services: {
        prepaint: { environment: Labels; ports: string[]; read_only: boolean; security_opt: string[] }
      }
    }
    const { environment, ports, security_opt } = services.prepaint
    for (const name of Object.keys(environment)) assert.ok(Object.hasOwn(SETTINGS, name), name)
    const exposed = /^EXPOSE (.+)$/m.exec(dockerfile)![1]!.split(' ')
    assert.deepEqual(ports.map((port) => port.split(':').at(-1)).sort(), exposed.sort())
    const profile = security_opt.find((each) => each.startsWith('seccomp='))!.slice('seccomp='.length)
    const { syscalls } = JSON.parse(read(profile)) as { syscalls: { names: string[] }[] }
    const refused = syscalls.flatMap(({ names }) => names)
    // What Chromium's sandbox needs.
    for (const name of ['clone', 'clone3', 'unshare', 'chroot', 'setns'])
      assert.ok(!refused.includes(name), name)
  })

  it('the unit lets Chromium change its root: a second filter would take the call away again', () => {
    const filters = read('deploy/systemd/prepaint.service').match(/^SystemCallFilter=.*$/gm)
    assert.deepEqual(filters, ['SystemCallFilter=@system-service chroot'])
  })
})
