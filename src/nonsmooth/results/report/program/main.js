// Start: data, player, plots, tables.

const data = JSON.parse(document.getElementById("run-data").textContent);
const player = new Player(data);
if (data.panels && document.getElementById("charts")) new Charts(data, player);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.seek");
  if (button) {
    player.pause();
    player.seek(Number(button.dataset.t));
    document.getElementById("player").scrollIntoView({ block: "nearest" });
  }
});
player.show();
document.body.dataset.ready = "yes";
// for tests and for those who want to drive the page from outside
window.nonsmoothReport = player;
