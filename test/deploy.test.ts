/** compose.yaml, the Kubernetes manifests, the unit, the Dockerfile and the lock file agree with each other and with the product. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { Container, PodSecurityContext, PodSpec } from 'kubernetes-types/core/v1.js'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '../bin/settings/table.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }
const dockerfile = read('Dockerfile')

type Labels = Record<string, string>
/** What the kinds of manifests have in common with a deployment, and what the others have. */
type Manifest = Deployment & {
  spec: {
    template: { metadata: { labels: Labels }; spec: PodSpec & { securityContext: PodSecurityContext } }
    selector: Labels
    podSelector: { matchLabels: Labels }
    ports: { targetPort: string }[]
    egress: { to: { ipBlock?: { cidr: string; except: string[] } }[] }[]
  }
}

const folder = 'deploy/kubernetes'
const kustomization = parse(read(`${folder}/kustomization.yaml`)) as {
  resources: string[]
  images: { name: string; newTag: string }[]
  configMapGenerator: { name: string; literals: string[] }[]
}
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`${folder}/${file}`)).map((document) => document.toJS() as Manifest),
)
const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind)
const deployments = ofKind('Deployment')
/** The one deployment whose pods have this component. */
const deployment = (labels: Labels): Manifest => {
  const component = 'app.kubernetes.io/component'
  const found = deployments.filter(
    ({ spec }) => spec.template.metadata.labels[component] === labels[component],
  )
  assert.equal(found.length, 1, labels[component])
  return found[0]!
}
const containerOf = ({ spec }: Manifest) => spec.template.spec.containers[0] as Required<Container>

describe('the Kubernetes manifests', () => {
  it('name every file once', () => {
    const files = readdirSync(path.join(ROOT, folder)).filter((file) => file !== 'kustomization.yaml')
    assert.deepEqual(kustomization.resources.toSorted(), files.toSorted())
  })

  it('run each role as a deployment of its own, with settings that exist', () => {
    const variables = deployments.flatMap((each) => containerOf(each).env)
    const roles = variables.filter(({ name }) => name === 'PREPAINT_ROLES')
    assert.deepEqual(roles.map(({ value }) => value).sort(), ['api', 'edge', 'render'])
    const literals = kustomization.configMapGenerator.flatMap((each) => each.literals)
    for (const name of [...literals.map((each) => each.split('=')[0]!), ...variables.map(({ name }) => name)])
      assert.ok(Object.hasOwn(SETTINGS, name), name)
  })

  it('take secrets by reference, without privileges, with a read-only root and probes that the product answers', () => {
    for (const each of deployments) {
      const pod = each.spec.template.spec
      const container = containerOf(each)
      for (const { name, value, valueFrom } of container.env) {
        if (/DATABASE_URL|KEY|TOKEN/.test(name))
          assert.deepEqual([value, valueFrom?.secretKeyRef?.name], [undefined, 'prepaint'])
      }
      const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext
      assert.deepEqual([runAsNonRoot, runAsUser], [true, 1000])
      assert.match(seccompProfile?.type ?? '', /^(RuntimeDefault|Localhost)$/)
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe]
      // People are served while PostgreSQL is away: no edge leaves its load balancer then.
      const ready = container.ports.some(({ name }) => name === 'edge') ? '/readyz/edge' : '/readyz'
      assert.equal(probes.map(({ httpGet }) => httpGet?.path).join(), `${ready},${ready},/healthz`)
      const ports = container.ports.map(({ name }) => name)
      for (const { httpGet } of probes) assert.ok(ports.includes(String(httpGet?.port)))
      const volumes = pod.volumes?.map(({ name }) => name)
      for (const { name } of container.volumeMounts) assert.ok(volumes?.includes(name), name)
      const mounted = container.volumeMounts.map(({ mountPath }) => mountPath)
      for (const at of ['/tmp', '/var/lib/prepaint']) assert.ok(mounted.includes(at))
    }
  })

  it('services and the network policy select pods and ports that exist', () => {
    for (const { spec } of ofKind('Service')) {
      const ports = containerOf(deployment(spec.selector)).ports.map(({ name }) => name)
      for (const { targetPort } of spec.ports) assert.ok(ports.includes(targetPort), targetPort)
    }
    const [policy] = ofKind('NetworkPolicy')
    assert.equal(deployment(policy!.spec.podSelector.matchLabels).metadata?.name, 'render')
    const blocks = policy!.spec.egress.flatMap(({ to }) => to).flatMap(({ ipBlock }) => ipBlock ?? [])
    assert.equal(blocks.map(({ cidr }) => cidr).join(), '0.0.0.0/0,::/0')
    const excepted = blocks.flatMap(({ except }) => except)
    for (const range of ['10.0.0.0/8', '169.254.0.0/16', 'fc00::/7']) assert.ok(excepted.includes(range))
  })
})

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
    assert.equal(kustomization.images.map(({ newTag }) => newTag).join(), version)
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
