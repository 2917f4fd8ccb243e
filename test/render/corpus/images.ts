import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

const GIF = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** Pictures are not fetched, and yet the page must do all that it does once they are there. */
export const images: Theme = {
  'images that load lazily by themselves': {
    why: 'The browser fetches them near the window only; crawlers need their addresses.',
    document: page`<div style="height: 20000px"></div><img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">`,
    expect: { has: [/<img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">/] },
  },
  'data-src swapped in by an observer': {
    why: 'Without the swap a crawler sees placeholders only.',
    document: page`<div style="height: 20000px"></div><img class="lazy" src="${GIF}" data-src="real-1.jpg"><img class="lazy" data-src="real-2.jpg"><script>
          const seen = new IntersectionObserver((entries) => { for (const { isIntersecting, target } of entries) if (isIntersecting) { target.src = target.dataset.src; seen.unobserve(target) } })
          for (const img of document.querySelectorAll('.lazy')) seen.observe(img)</script>`,
    expect: { has: [/ src="real-1.jpg"/, / src="real-2.jpg"/] },
  },
  'a placeholder that goes when the picture has loaded': {
    why: 'Picture and text are hidden until the load event, which a renderer without images never sends.',
    document: page`<figure><p id="wait">loading picture</p><img id="pic" src="real.jpg" hidden></figure><script>
          pic.onload = () => { wait.remove(); pic.hidden = false }; pic.onerror = () => { wait.textContent = 'picture is broken' }</script>`,
    expect: { readsNot: ['loading', 'broken'], has: ['<img id="pic" src="real.jpg">'] },
  },
  'pictures fetched ahead by new Image': {
    why: 'A gallery shows itself when all its pictures have come.',
    document: scripted`Promise.all(['a.jpg', 'b.jpg', 'c.jpg'].map((src) => new Promise((done, fail) => { const img = new Image(); img.onload = () => done(img); img.onerror = fail; img.src = src })))
          .then(async (all) => { await Promise.all(all.map((img) => img.decode())); show('gallery of ' + all.filter(({ complete, naturalWidth }) => complete && naturalWidth > 0).length) }, () => show('broken'))`,
    expect: { reads: ['gallery of 3'] },
  },
  'a picture element and its sources': {
    why: 'The address is chosen by the browser, and all of them must stay.',
    document: page`<picture><source srcset="wide.avif" type="image/avif"><source srcset="wide.webp" media="(min-width: 800px)"><img src="plain.jpg" alt="all of them"></picture><p id="out"></p><script>
          document.querySelector('img').addEventListener('load', () => out.append('picture loaded'))</script>`,
    expect: { reads: ['picture loaded'], has: ['wide.avif', 'wide.webp', 'plain.jpg'] },
  },
  'data images, sound and broken': {
    why: 'They load by themselves, and a broken one must be told so.',
    document: page`<p id="out"></p><script>
          for (const [name, src] of [['sound', '${GIF}'], ['damaged', 'data:image/gif;base64,AAAA']]) { const img = new Image()
            img.onload = () => out.append(name + ' loads, '); img.onerror = () => out.append(name + ' fails, '); img.src = src }</script>`,
    expect: { reads: ['sound loads,', 'damaged fails,'] },
  },
  'video and audio': {
    why: 'Media are not fetched; their elements, sources and posters stay, and the page does not wait.',
    document: page`<video poster="still.jpg" controls><source src="film.mp4" type="video/mp4"><track src="en.vtt" kind="captions"></video><audio src="sound.mp3" autoplay></audio><p id="out"></p><script>
          document.querySelector('video').play().catch(() => {}); setTimeout(() => out.append('beside the film'), 1500)</script>`,
    expect: {
      reads: ['beside the film'],
      has: ['<video poster="still.jpg" controls="">', 'film.mp4', 'sound.mp3', 'en.vtt'],
    },
  },
  'text that is drawn on a canvas': {
    why: 'A bitmap has no words; what stands inside the element as its fallback stays.',
    limit: true,
    document: page`<canvas width="300" height="50">fallback words</canvas><script>document.querySelector('canvas').getContext('2d').fillText('drawn words', 10, 20)</script>`,
    expect: {
      reads: ['fallback words'],
      readsNot: ['drawn words'],
      has: ['<canvas width="300" height="50">'],
    },
  },
  'a scene of WebGL': {
    why: 'Its frames would be drawn by the processor, for a picture that no snapshot holds.',
    limit: true,
    document: page`<h1>ferries</h1><canvas></canvas><p id="out"></p><script>const gl = document.querySelector('canvas').getContext('webgl')
          const make = (type, source) => { const shader = gl.createShader(type); gl.shaderSource(shader, source); gl.compileShader(shader); return shader }
          const draw = () => {
            const program = gl.createProgram()
            gl.attachShader(program, make(gl.VERTEX_SHADER, 'void main() { gl_PointSize = 9.0; gl_Position = vec4(0, 0, 0, 1); }'))
            gl.attachShader(program, make(gl.FRAGMENT_SHADER, 'void main() { gl_FragColor = vec4(1); }'))
            gl.linkProgram(program); gl.useProgram(program); gl.drawArrays(gl.POINTS, 0, 1)
            const pixel = new Uint8Array(4)
            gl.readPixels(150, 75, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel)
            return pixel[0] }
          out.append('the middle is ' + (gl === null ? 0 : draw()))</script>`,
    expect: { reads: ['ferries', 'the middle is 0'] },
  },
  'a canvas that is made into an image': {
    why: 'toDataURL and toBlob work without a screen.',
    document: page`<p id="out"></p><script>const c = document.createElement('canvas'); c.width = c.height = 2; c.getContext('2d').fillRect(0, 0, 2, 2)
          const img = new Image(); img.alt = 'chart'; img.onload = () => out.append(img, 'chart as image'); img.src = c.toDataURL(); c.toBlob((blob) => out.append('blob of ' + (blob.size > 0)))</script>`,
    expect: {
      reads: ['chart as image', 'blob of true'],
      has: [/<img alt="chart" src="data:image\/png;base64,/],
    },
  },
  'an SVG made by script': {
    why: 'Names of another vocabulary keep their case: viewBox, foreignObject.',
    document: page`<div id="chart"></div><script>const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', '0 0 10 10')
          const text = document.createElementNS(ns, 'text'); text.textContent = 'tons & barrels'; const box = document.createElementNS(ns, 'foreignObject'); box.innerHTML = '<p xmlns="http://www.w3.org/1999/xhtml">in the box</p>'
          const use = document.createElementNS(ns, 'use'); use.setAttributeNS('http://www.w3.org/1999/xlink', 'xlink:href', '#icon'); svg.append(text, box, use); chart.append(svg)</script>`,
    expect: {
      reads: ['tons & barrels', 'in the box'],
      has: ['viewBox="0 0 10 10"', '<foreignObject>', 'xlink:href="#icon"'],
    },
  },
  'a scene in WebGL': {
    why: 'There is no graphics card; the page shows what it shows to people without one.',
    document: scripted`const gl = document.createElement('canvas').getContext('webgl2'); show(gl === null ? 'no 3D here' : '3D here'); setTimeout(() => show('the rest'), 500)`,
    expect: { reads: ['the rest'], has: [/3D here/] },
  },
}
