set terminal pngcairo noenhanced size 1000,290 background rgb 'white' font 'sans,10'
set multiplot layout 1,3 rowsfirst margins screen 0.0850,0.9800,0.2586,0.7931 spacing screen 0.0850,0.3276 title 'whole & ''all'': each parameter on its own, mean (dots) and best (rings) over all others'
set border 3
set ytics nomirror
set grid ytics lc rgb '#dddddd'
unset key
set offsets graph 0, graph 0, graph 0.08, graph 0.08
$effect0 << EOD
0 2276.6666666666665 4012
1 4980.1399999999994 7063
2 9947.4666666666653 14486.399999999998
3 14042 14042
4 15984.226666666666 23073.599999999995
5 17556.599999999999 26637.599999999999
6 18313.439999999999 24072
7 31230.299999999999 35217.599999999999
8 28414.666666666668 38630.399999999994
9 27358.339999999997 37333
10 31752.799999999999 47361.599999999999
11 44204 48288
12 29837.599999999999 40360
13 37669.333333333336 48576
14 29717.599999999999 40120
15 44468 48576
EOD
set ylabel 'throughput of q:tpt [/s]'
set format y '%.0s %c/s'
set xlabel 'threads'
set xtics ('2' 0, '10' 2, '17' 4, '25' 6, '32' 8, '39' 10, '47' 12, '54' 14) out nomirror scale 0.5
set xrange [-0.5:15.5]
set title '73 % of the variance' offset 0,-0.7
plot $effect0 using 1:3 with linespoints lc rgb '#440154' pt 6, $effect0 using 1:2 with linespoints lc rgb '#21918c' lw 2 pt 7 ps 0.6
$effect1 << EOD
0 11441.459999999999 19315.200000000001
1 29021.400000000001 48288
2 30850.200000000001 48576
EOD
set ylabel 'throughput of q:tpt [/s]'
set format y '%.0s %c/s'
set xlabel 'size [KB]'
set xtics ('4' 0, '64' 1, '1024' 2) out nomirror scale 0.5
set xrange [-0.5:2.5]
set title '21 % of the variance' offset 0,-0.7
plot $effect1 using 1:3 with linespoints lc rgb '#440154' pt 6, $effect1 using 1:2 with linespoints lc rgb '#21918c' lw 2 pt 7 ps 0.6
$effect2 << EOD
0 21338.066666666666 40360
1 26203.973333333332 48576
EOD
set ylabel 'throughput of q:tpt [/s]'
set format y '%.0s %c/s'
set xlabel 'mode'
set xtics ('x' 0, '50%%' 1) out nomirror scale 0.5
set xrange [-0.5:1.5]
set title '1 % of the variance' offset 0,-0.7
plot $effect2 using 1:3 with points lc rgb '#440154' pt 6, $effect2 using 1:2 with points lc rgb '#21918c' lw 2 pt 7 ps 0.6
unset multiplot
